// The reader over a libkstat that is defined here. Each test sets up its chain.

#include "tools/kstat/reader.hpp"

#include <gtest/gtest.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <random>
#include <system_error>

#include "tools/kstat/format.hpp"

namespace {

// The published kstats, and the behaviour of the library.
struct Published {
    std::list<kstat_t> chain;  // a list, because a kstat must stay at its address
    int open_errors = 0;       // this many opens fail with EAGAIN
    int update_error = 0;
    int opens = 0;
    int closes = 0;
    int reads = 0;
    std::string unreadable;  // the name of a kstat whose provider is closed
    kstat_intr_t data{{1, 2, 3, 4, 5}};
    kstat_ctl_t control{};
};

Published published;

void publish(const char* module, int instance, const char* name, uchar_t type = KSTAT_TYPE_INTR) {
    kstat_t ksp{};
    std::strncpy(ksp.ks_module, module, sizeof(ksp.ks_module) - 1);
    std::strncpy(ksp.ks_name, name, sizeof(ksp.ks_name) - 1);
    std::strcpy(ksp.ks_class, "controller");
    ksp.ks_instance = instance;
    ksp.ks_type = type;
    ksp.ks_crtime = 1'000'000'000;
    published.chain.push_back(ksp);
    kstat_t* next = nullptr;
    for (auto it = published.chain.rbegin(); it != published.chain.rend(); ++it) {
        it->ks_next = next;
        next = &*it;
    }
    published.control.kc_chain = next;
}

}  // namespace

extern "C" {

kstat_ctl_t* kstat_open() {
    ++published.opens;
    errno = EAGAIN;
    return published.opens <= published.open_errors ? nullptr : &published.control;
}

int kstat_close(kstat_ctl_t* /*kc*/) {
    ++published.closes;
    return 0;
}

kid_t kstat_chain_update(kstat_ctl_t* /*kc*/) {
    errno = published.update_error;
    return published.update_error != 0 ? -1 : 0;
}

kid_t kstat_read(kstat_ctl_t* /*kc*/, kstat_t* ksp, void* /*buf*/) {
    ++published.reads;
    if (published.unreadable == ksp->ks_name) {
        errno = ENXIO;
        return -1;
    }
    ksp->ks_data = &published.data;
    ksp->ks_ndata = 1;
    ksp->ks_data_size = sizeof(published.data);
    ksp->ks_snaptime = 2'000'000'000;
    return 1;
}

}  // extern "C"

namespace blkscope::kstat_command {
namespace {

class KstatReader : public testing::Test {
  protected:
    KstatReader() {
        published = Published{};
        options.selectors = {Selector{}};
    }

    static std::string shown(const Reading& kstat) {
        std::string out;
        for (const Statistic& s : kstat.statistics) {
            out += s.name + "=" + value_text(s.value) + " ";
        }
        return out;
    }

    Options options;
};

TEST_F(KstatReader, CreationAndSnapshotTimesAreAmongTheStatistics) {
    publish("dev", 0, "intr");
    const auto kstats = Reader(options).read();
    ASSERT_EQ(kstats.size(), 1u);
    EXPECT_EQ(shown(kstats[0]),
              "crtime=1.000000000 hard=1 multiple_service=5 snaptime=2.000000000 soft=2 "
              "spurious=4 watchdog=3 ");
    EXPECT_EQ(kstats[0].snaptime, 2'000'000'000);
    EXPECT_EQ(kstats[0].kstat_class, "controller");
    EXPECT_EQ(kstats[0].type, KSTAT_TYPE_INTR);
}

TEST_F(KstatReader, TheClassIsOneTooIfItIsListed) {
    publish("dev", 0, "intr");
    options.class_listed = true;
    EXPECT_TRUE(shown(Reader(options).read().at(0)).starts_with("class=controller crtime="));
}

TEST_F(KstatReader, AFailedReadLeavesTheCreationTimeAndTheClass) {
    publish("dev", 0, "intr");
    publish("dev", 0, "gone");
    published.unreadable = "gone";
    options.class_listed = true;
    const auto kstats = Reader(options).read();
    ASSERT_EQ(kstats.size(), 2u);
    EXPECT_EQ(shown(kstats[0]), "class=controller crtime=1.000000000 ");
    EXPECT_EQ(kstats[0].snaptime, 0);
}

TEST_F(KstatReader, OnlyWhatIsAskedForIsReadAndInOrder) {
    publish("z", 0, "a");
    publish("a", 10, "a");
    publish("a", 9, "a");
    publish("other", 0, "a");
    publish("a", 1, "raw", KSTAT_TYPE_RAW);
    publish("a", 1, "kstat_types");
    options.selectors = {parse_selector("z"), parse_selector("a")};
    const auto kstats = Reader(options).read();
    ASSERT_EQ(kstats.size(), 3u);
    EXPECT_EQ(kstats[0].instance, 9);
    EXPECT_EQ(kstats[1].instance, 10);
    EXPECT_EQ(kstats[2].module, "z");
    EXPECT_EQ(published.reads, 3);
}

TEST_F(KstatReader, ModulesThatDifferInCaseOnlyAreInterleavedByInstance) {
    publish("abc", 2, "x");
    publish("ABC", 1, "x");
    publish("Abc", 3, "x");
    publish("ABC", 2, "X");
    std::string order;
    for (const Reading& k : Reader(options).read()) {
        order += k.module + ":" + std::to_string(k.instance) + ":" + k.name + " ";
    }
    EXPECT_EQ(order, "ABC:1:x ABC:2:X abc:2:x Abc:3:x ");  // of equals, the last one comes first
}

// The original inserts each kstat in front of the first one that is not before it.
TEST_F(KstatReader, TheOrderIsTheOriginals) {
    const auto before = [](const Reading& one, const Reading& other) {
        const int modules = strcasecmp(one.module.c_str(), other.module.c_str());
        if (modules != 0) return modules < 0;
        if (one.instance != other.instance) return one.instance < other.instance;
        return strcasecmp(one.name.c_str(), other.name.c_str()) < 0;
    };
    std::mt19937 random(20261123);
    for (int round = 0; round < 300; ++round) {
        published = Published{};
        std::vector<Reading> order;
        for (int i = 0; i < 12; ++i) {
            const char* const modules[]{"a", "A", "ab", "AB", "b"};
            const char* const names[]{"x", "X", "xy", "Y"};
            const Reading one{.module = modules[random() % 5],
                              .instance = static_cast<int>(random() % 3),
                              .name = names[random() % 4]};
            publish(one.module.c_str(), one.instance, one.name.c_str());
            const auto at = std::ranges::find_if(
                order, [&](const Reading& other) { return !before(other, one); });
            order.insert(at, one);
        }
        const auto kstats = Reader(options).read();
        ASSERT_EQ(kstats.size(), order.size());
        for (size_t i = 0; i < order.size(); ++i) {
            ASSERT_EQ(kstats[i].module + kstats[i].name, order[i].module + order[i].name);
            ASSERT_EQ(kstats[i].instance, order[i].instance);
        }
    }
}

TEST_F(KstatReader, OpensOnceAndSeesWhatIsNew) {
    {
        Reader reader(options);
        EXPECT_EQ(reader.read().size(), 0u);
        publish("dev", 0, "intr");
        EXPECT_EQ(reader.read().size(), 1u);
        EXPECT_EQ(published.closes, 0);
    }
    EXPECT_EQ(published.opens, 1);
    EXPECT_EQ(published.closes, 1);
}

TEST_F(KstatReader, AShortageIsWaitedOut) {
    publish("dev", 0, "intr");
    published.open_errors = 1;
    EXPECT_EQ(Reader(options).read().size(), 1u);
    EXPECT_EQ(published.opens, 2);
}

TEST_F(KstatReader, AnotherErrorIsThrown) {
    Reader reader(options);
    EXPECT_EQ(reader.read().size(), 0u);
    EXPECT_FALSE(reader.is_partial());
    published.update_error = EIO;
    try {
        static_cast<void>(reader.read());
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EIO);
    }
}

TEST_F(KstatReader, WithoutDescriptorsItReadsWhatThereIsAndSaysSo) {
    publish("dev", 0, "intr");
    published.update_error = EMFILE;
    Reader reader(options);
    EXPECT_EQ(reader.read().size(), 1u);
    EXPECT_TRUE(reader.is_partial());
    published.update_error = 0;
    EXPECT_EQ(reader.read().size(), 1u);
    EXPECT_FALSE(reader.is_partial());
}

}  // namespace
}  // namespace blkscope::kstat_command
