// Each type of kstat, there and back between two processes.
#include <gtest/gtest.h>
#include <sys/mutex.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatTypes = KstatProcesses;

void install(const char* name, uchar_t type, uint_t ndata, const void* data, int flags = 0) {
    kstat_t* const ksp =
        kstat_create("types", 0, name, "misc", type, ndata, static_cast<uchar_t>(flags));
    std::memcpy(ksp->ks_data, data, ksp->ks_data_size);
    kstat_install(ksp);
}

void provide_counters(const Line& line) {
    const kstat_intr_t interrupts{{1, 2, 3, 4, 5}};
    install("intr", KSTAT_TYPE_INTR, 1, &interrupts);
    kstat_timer_t timers[2]{};
    kstat_timer_init(&timers[0], "flush");
    kstat_timer_init(&timers[1], "trim");
    kstat_timer_start(&timers[1]);
    kstat_timer_stop(&timers[1]);
    install("timer", KSTAT_TYPE_TIMER, 2, timers);
    kstat_io_t io{};
    io.nread = 1ULL << 40;
    io.reads = 7;
    install("io", KSTAT_TYPE_IO, 1, &io, KSTAT_FLAG_WRITABLE);
    install("raw", KSTAT_TYPE_RAW, 6, "\1\0\2\0\3", KSTAT_FLAG_WRITABLE);
    take_turns(line);
}

TEST_F(KstatTypes, InterruptAndTimerCountersArriveAsTheyAre) {
    const ReadyChild child(provide_counters);
    open();
    kstat_t* const interrupts = lookup("types", "intr");
    ASSERT_NE(kstat_read(kc, interrupts, nullptr), -1);
    EXPECT_EQ(KSTAT_INTR_PTR(interrupts)->intrs[KSTAT_INTR_HARD], 1u);
    EXPECT_EQ(KSTAT_INTR_PTR(interrupts)->intrs[KSTAT_INTR_MULTSVC], 5u);
    kstat_t* const timers = lookup("types", "timer");
    ASSERT_NE(kstat_read(kc, timers, nullptr), -1);
    EXPECT_EQ(timers->ks_ndata, 2u);
    const auto* const trim = static_cast<kstat_timer_t*>(kstat_data_lookup(timers, "trim"));
    ASSERT_NE(trim, nullptr);
    EXPECT_EQ(trim->num_events, 1u);
    EXPECT_EQ(trim->min_time, trim->elapsed_time);
    EXPECT_EQ(trim->stop_time - trim->start_time, trim->elapsed_time);
}

TEST_F(KstatTypes, RawAndIoKstatsReadAsTheyWereWritten) {
    const ReadyChild child(provide_counters);
    open();
    kstat_t* const raw = lookup("types", "raw");
    char bytes[6];
    ASSERT_NE(kstat_read(kc, raw, bytes), -1);
    EXPECT_EQ(std::memcmp(bytes, "\1\0\2\0\3", 6), 0);
    std::memcpy(bytes, "\5\0\4\0\3", 6);
    ASSERT_NE(kstat_write(kc, raw, bytes), -1);
    char again[6];
    ASSERT_NE(kstat_read(kc, raw, again), -1);
    EXPECT_EQ(std::memcmp(again, bytes, 6), 0);

    kstat_t* const disk = lookup("types", "io");
    kstat_io_t io;
    ASSERT_NE(kstat_read(kc, disk, &io), -1);
    EXPECT_EQ(io.nread, 1ULL << 40);
    io.rtime = 1'234'567'891;
    ASSERT_NE(kstat_write(kc, disk, &io), -1);
    kstat_io_t copy;
    ASSERT_NE(kstat_read(kc, disk, &copy), -1);
    EXPECT_EQ(std::memcmp(&copy, &io, sizeof io), 0);
}

void provide_times(const Line& line) {
    kstat_io_t io{};
    io.rtime = 1'500'000'000;
    io.rlentime = 3'000'000'001;
    io.wtime = 7;
    install("io", KSTAT_TYPE_IO, 1, &io);
    take_turns(line);
}

// A driver may keep a kstat_io_t's times itself, from gethrtime().
TEST_F(KstatTypes, TimesThatAProviderSetsItselfArriveAsTheyAre) {
    const ReadyChild child(provide_times);
    open();
    kstat_io_t io;
    ASSERT_NE(kstat_read(kc, lookup("types", "io"), &io), -1);
    EXPECT_EQ(io.rtime, 1'500'000'000);
    EXPECT_EQ(io.rlentime, 3'000'000'001);
    EXPECT_EQ(io.wtime, 7);
}

TEST_F(KstatTypes, SnaptimeLiesBetweenTheReadersOwnLooksAtTheClock) {
    const ReadyChild child(provide_times);
    open();
    kstat_t* const ksp = lookup("types", "io");
    const hrtime_t before = gethrtime();
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    EXPECT_LE(before, ksp->ks_snaptime);
    EXPECT_LE(ksp->ks_snaptime, gethrtime());
    EXPECT_LE(ksp->ks_crtime, before);
}

int update_without_a_word_of_strings(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    static char serial[] = "SN-000000000000000000";
    KSTAT_NAMED_PTR(ksp)[0].value.ui32++;
    serial[sizeof serial - 2] = 'z';
    kstat_named_setstr(&KSTAT_NAMED_PTR(ksp)[1], serial);
    return 0;
}

void provide_a_forgotten_string(const Line& line) {
    kstat_t* const ksp = kstat_create("types", 0, "err", "misc", KSTAT_TYPE_NAMED, 2, 0);
    kstat_named_init(&KSTAT_NAMED_PTR(ksp)[0], "errors", KSTAT_DATA_UINT32);
    kstat_named_init(&KSTAT_NAMED_PTR(ksp)[1], "serial", KSTAT_DATA_STRING);
    ksp->ks_update = update_without_a_word_of_strings;
    kstat_install(ksp);
    take_turns(line);
}

TEST_F(KstatTypes, AStringThatTheUpdateRoutineLeavesOutOfTheSizeArrives) {
    const ReadyChild child(provide_a_forgotten_string);
    open();
    kstat_t* const ksp = lookup("types", "err");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    EXPECT_STREQ(KSTAT_NAMED_STR_PTR(&KSTAT_NAMED_PTR(ksp)[1]), "SN-00000000000000000z");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    EXPECT_EQ(KSTAT_NAMED_PTR(ksp)[0].value.ui32, 2u);
}

void provide_every_data_type(const Line& line) {
    kstat_named_t records[9];
    const uchar_t types[] = {KSTAT_DATA_CHAR,   KSTAT_DATA_INT32,  KSTAT_DATA_UINT32,
                             KSTAT_DATA_INT64,  KSTAT_DATA_UINT64, KSTAT_DATA_FLOAT,
                             KSTAT_DATA_DOUBLE, KSTAT_DATA_LONG,   KSTAT_DATA_ULONG};
    std::memset(records, 0, sizeof records);
    for (size_t i = 0; i < 9; ++i) {
        kstat_named_init(&records[i], std::string(1, static_cast<char>('a' + i)).c_str(), types[i]);
    }
    std::memcpy(records[0].value.c, "sixteen chars...", 16);
    records[1].value.i32 = -1;
    records[2].value.ui32 = 0xffffffff;
    records[3].value.i64 = -(1LL << 40);
    records[4].value.ui64 = ~0ULL;
    records[5].value.f = 1.5F;
    records[6].value.d = -2.25;
    records[7].value.l = -3;
    records[8].value.ul = ~0UL;
    install("data", KSTAT_TYPE_NAMED, 9, records);
    take_turns(line);
}

TEST_F(KstatTypes, EveryDataTypeOfANamedKstatArrives) {
    const ReadyChild child(provide_every_data_type);
    open();
    kstat_t* const ksp = lookup("types", "data");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    const kstat_named_t* const records = KSTAT_NAMED_PTR(ksp);
    EXPECT_EQ(std::memcmp(records[0].value.c, "sixteen chars...", 16), 0);
    EXPECT_EQ(records[1].value.i32, -1);
    EXPECT_EQ(records[2].value.ui32, 0xffffffff);
    EXPECT_EQ(records[3].value.i64, -(1LL << 40));
    EXPECT_EQ(records[4].value.ui64, ~0ULL);
    EXPECT_EQ(records[5].value.f, 1.5F);
    EXPECT_EQ(records[6].value.d, -2.25);
    EXPECT_EQ(records[7].value.l, -3);
    EXPECT_EQ(records[8].value.ul, ~0UL);
    EXPECT_EQ(records[7].data_type, KSTAT_DATA_INT64);
    EXPECT_EQ(records[8].data_type, KSTAT_DATA_UINT64);
}

// One long string that a reader may change, but not lengthen: its kstat fills the 64 MiB there are. The
// thread sanitizer takes too long for so much.
#ifdef __SANITIZE_THREAD__
constexpr size_t data_max = size_t{1} << 20;
constexpr std::chrono::milliseconds slow_write{500};
#else
constexpr size_t data_max = size_t{64} << 20;
constexpr std::chrono::milliseconds slow_write{1500};
#endif
std::string text(data_max - sizeof(kstat_named_t) - 1, 'a');

int text_snapshot(kstat_t* ksp, void* buffer, int rw) {
    auto* const record = static_cast<kstat_named_t*>(buffer);
    auto* const area = static_cast<char*>(buffer) + sizeof(kstat_named_t);
    ksp->ks_snaptime = gethrtime();
    if (rw == KSTAT_WRITE) {
        if (KSTAT_NAMED_STR_BUFLEN(record) != text.size() + 1) return EINVAL;
        text.assign(KSTAT_NAMED_STR_PTR(record), text.size());
        return 0;
    }
    *record = *KSTAT_NAMED_PTR(ksp);
    std::memcpy(area, text.c_str(), text.size() + 1);
    KSTAT_NAMED_STR_PTR(record) = area;
    return 0;
}

int slow_text_snapshot(kstat_t* ksp, void* area, int rw) {
    if (rw == KSTAT_WRITE) std::this_thread::sleep_for(slow_write);
    return text_snapshot(ksp, area, rw);
}

void provide_text_by(const Line& line, int (*snapshot)(kstat_t*, void*, int)) {
    kstat_t* const ksp =
        kstat_create("types", 0, "text", "misc", KSTAT_TYPE_NAMED, 1, KSTAT_FLAG_WRITABLE);
    kstat_named_init(KSTAT_NAMED_PTR(ksp), "text", KSTAT_DATA_STRING);
    kstat_named_setstr(KSTAT_NAMED_PTR(ksp), text.c_str());
    ksp->ks_data_size = data_max;   // a reader waits longer for what is long
    text.assign(text.size(), 'a');  // its pages are this process's own from now on
    ksp->ks_snapshot = snapshot;
    kstat_install(ksp);
    take_turns(line);
}

void provide_text(const Line& line) {
    provide_text_by(line, text_snapshot);
}

TEST_F(KstatTypes, AStringAsLongAsThereIsRoomForIsReadAndWritten) {
    const ReadyChild child(provide_text);
    open();
    kstat_t* const ksp = lookup("types", "text");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1) << std::strerror(errno);
    EXPECT_EQ(ksp->ks_data_size, data_max);
    auto* record = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, "text"));
    EXPECT_EQ(KSTAT_NAMED_STR_BUFLEN(record), text.size() + 1);
    std::memset(KSTAT_NAMED_STR_PTR(record), 'z', text.size());
    ASSERT_NE(kstat_write(kc, ksp, nullptr), -1) << std::strerror(errno);
    std::memset(KSTAT_NAMED_STR_PTR(record), 0, text.size());
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
    record = KSTAT_NAMED_PTR(ksp);
    EXPECT_EQ(KSTAT_NAMED_STR_PTR(record), std::string(text.size(), 'z'));
}

// A provider may take a second for an answer, and longer after a long request.
TEST_F(KstatTypes, AProviderHasMoreTimeForALongString) {
    const ReadyChild child([](const Line& line) { provide_text_by(line, slow_text_snapshot); });
    open();
    kstat_t* const ksp = lookup("types", "text");
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1) << std::strerror(errno);
    ASSERT_NE(kstat_write(kc, ksp, nullptr), -1) << std::strerror(errno);
    ASSERT_NE(kstat_read(kc, ksp, nullptr), -1) << std::strerror(errno);
}

// A RAW kstat of which there is more with every read.
int lengthen(kstat_t* ksp, int) {
    ksp->ks_data_size += 100'000;
    ksp->ks_ndata = static_cast<uint_t>(ksp->ks_data_size);
    return 0;
}
void provide_more_and_more(const Line& line) {
    static kmutex_t lock;
    static std::vector<char> data(1'000'000, 'd');
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    kstat_t* const ksp = kstat_create("types", 0, "more", "misc", KSTAT_TYPE_RAW, 0,
                                      KSTAT_FLAG_VIRTUAL | KSTAT_FLAG_VAR_SIZE);
    ksp->ks_data = data.data();
    ksp->ks_lock = &lock;
    ksp->ks_update = lengthen;
    kstat_install(ksp);
    take_turns(line);
    kstat_delete(ksp);
}

TEST_F(KstatTypes, AVariableSizeIsWhatTheUpdateSaysAtEachRead) {
    const ReadyChild child(provide_more_and_more);
    open();
    kstat_t* const ksp = lookup("types", "more");
    for (size_t size = 100'000; size <= 500'000; size += 100'000) {
        ASSERT_NE(kstat_read(kc, ksp, nullptr), -1);
        ASSERT_EQ(ksp->ks_data_size, size);
        EXPECT_EQ(ksp->ks_ndata, size);
        EXPECT_EQ(static_cast<const char*>(ksp->ks_data)[size - 1], 'd');
    }
}

// A persistent disk that goes and comes back, a step at a time.
void go_and_come_back(const Line& line) {
    static kmutex_t lock;
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    for (int life = 0; life < 2; ++life) {
        kstat_t* const ksp =
            kstat_create("types", 0, "disk", "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
        ksp->ks_lock = &lock;
        kstat_install(ksp);
        mutex_enter(&lock);
        kstat_runq_enter(KSTAT_IO_PTR(ksp));
        kstat_runq_exit(KSTAT_IO_PTR(ksp));
        KSTAT_IO_PTR(ksp)->reads += 10;
        mutex_exit(&lock);
        take_turns(line);
        kstat_delete(ksp);
        line.say('d');
        if (line.hear() == 0) return;
    }
}

TEST_F(KstatTypes, APersistentKstatGoesOnFromItsCountsWhenItsProviderComesBack) {
    const ReadyChild child(go_and_come_back);
    open();
    kstat_t* const ksp = lookup("types", "disk");
    const hrtime_t created = ksp->ks_crtime;
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'd');
    kstat_io_t dormant;
    ASSERT_NE(kstat_read(kc, ksp, &dormant), -1);
    EXPECT_EQ(dormant.reads, 10u);
    EXPECT_EQ(ksp->ks_flags, KSTAT_FLAG_PERSISTENT | KSTAT_FLAG_DORMANT);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'r');
    kstat_chain_update(kc);
    EXPECT_EQ(lookup("types", "disk"), ksp);
    kstat_io_t alive;
    ASSERT_NE(kstat_read(kc, ksp, &alive), -1);
    EXPECT_EQ(alive.reads, 20u);
    EXPECT_GE(alive.rtime, dormant.rtime);
    EXPECT_EQ(ksp->ks_crtime, created);
    EXPECT_EQ(ksp->ks_flags, KSTAT_FLAG_PERSISTENT);
}

void provide_for_a_zone(const Line& line) {
    kstat_t* const ksp =
        kstat_create_zone("types", 0, "zoned", "misc", KSTAT_TYPE_RAW, 1, 0, GLOBAL_ZONEID + 1);
    kstat_install(ksp);
    take_turns(line);
    kstat_zone_add(ksp, GLOBAL_ZONEID);
    line.say('a');
    line.hear();
    kstat_zone_remove(ksp, GLOBAL_ZONEID);
    line.say('g');
    line.hear();
}

TEST_F(KstatTypes, AnotherZonesKstatIsNotThereUntilItIsGivenToOurs) {
    const ReadyChild child(provide_for_a_zone);
    open();
    EXPECT_EQ(lookup("types"), nullptr);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'a');
    EXPECT_NE(kstat_chain_update(kc), 0);
    kstat_t* const ksp = lookup("types");
    ASSERT_NE(ksp, nullptr);
    EXPECT_NE(kstat_read(kc, ksp, nullptr), -1);
    child.line().say('n');
    ASSERT_EQ(child.line().hear(), 'g');
    EXPECT_EQ(kstat_read(kc, ksp, nullptr), -1);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_NE(kstat_chain_update(kc), 0);
    EXPECT_EQ(lookup("types"), nullptr);
}

}  // namespace

}  // namespace blkscope
