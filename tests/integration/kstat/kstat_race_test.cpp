// Creating, counting, reading and deleting at the same time. The provider's threads meet its server
// thread, and the thread sanitizer looks on.
#include <gtest/gtest.h>
#include <sys/mutex.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "base/seqlock.hpp"
#include "child_process.hpp"
#include "kstat/registry/queues.hpp"
#include "kstat/registry/snapshot.hpp"

namespace blkscope {

namespace {

using KstatRace = KstatProcesses;

void make_and_delete(const Line& line) {
    line.say('r');
    for (int i = 0; i < 300; ++i) {
        kstat_t* const ksp = kstat_create("race", i, nullptr, "misc", KSTAT_TYPE_RAW, 8, 0);
        std::memset(ksp->ks_data, 7, 8);
        kstat_install(ksp);
        if (i % 3 != 0) kstat_delete(ksp);
    }
    line.say('d');
    line.hear();
}

TEST_F(KstatRace, ReadersNeverMeetAKstatThatIsBeingMadeOrDeleted) {
    const ReadyChild child(make_and_delete);
    open();
    int kstats = 0;
    const bool all_made = eventually([&] {
        EXPECT_NE(kstat_chain_update(kc), -1);
        kstats = 0;
        for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
            char data[8];
            if (std::strcmp(ksp->ks_module, "race") != 0) continue;
            ++kstats;
            if (kstat_read(kc, ksp, data) == -1) continue;
            for (const char byte : data) EXPECT_EQ(byte, 7);
        }
        const kstat_t* const last = kstat_lookup(kc, "race", 297, nullptr);
        return last != nullptr && kstats == 100;
    });
    EXPECT_TRUE(all_made) << kstats;
    EXPECT_EQ(child.line().hear(), 'd');
}

void count_under_a_lock(const Line& line) {
    static kmutex_t lock;
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    kstat_t* const ksp = kstat_create("locked", 0, nullptr, "disk", KSTAT_TYPE_IO, 1, 0);
    ksp->ks_lock = &lock;
    kstat_install(ksp);
    std::atomic<bool> done{false};
    std::thread device([&] {
        while (!done) {
            mutex_enter(&lock);
            kstat_runq_enter(KSTAT_IO_PTR(ksp));
            KSTAT_IO_PTR(ksp)->reads++;
            KSTAT_IO_PTR(ksp)->nread += 512;
            kstat_runq_exit(KSTAT_IO_PTR(ksp));
            mutex_exit(&lock);
            // A device that never rests starves a reader on a busy machine.
            std::this_thread::yield();
        }
    });
    take_turns(line);
    done = true;
    device.join();
    kstat_delete(ksp);
}

TEST_F(KstatRace, ALockedDevicesTransitionsAreNeverSeenHalfDone) {
    ReadyChild child(count_under_a_lock);
    open();
    kstat_io_t last{};
    for (int i = 0; i < 300; ++i) {
        kstat_io_t io;
        ASSERT_NE(kstat_read(kc, lookup("locked"), &io), -1);
        EXPECT_EQ(io.nread % 512, 0u);
        EXPECT_EQ(static_cast<uint_t>(io.nread / 512), io.reads);
        EXPECT_EQ(io.rcnt, 0u);
        EXPECT_GE(io.rtime, last.rtime);
        last = io;
    }
    child.line().say('q');
    EXPECT_EQ(child.wait(), 0);
}

// A device as blkscope's own: one writer, no lock, a snapshot through the sequence lock.
struct Device {
    Seqlock sequence;
    kstat_io_t io{};
};

int snapshot(kstat_t* ksp, void* buffer, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const Device& device = *static_cast<const Device*>(ksp->ks_private);
    const kstat_io_t live = device.sequence.read([&] { return kstat::observe(device.io); });
    const hrtime_t now = now_unscaled();
    const kstat_io_t copy = kstat::io_snapshot(live, now);
    std::memcpy(buffer, &copy, sizeof copy);
    ksp->ks_snaptime = to_ns(now);
    return 0;
}

void count_one_read(Device& device) {
    const auto writing = device.sequence.write();
    const hrtime_t now = now_unscaled();
    kstat::waitq_enter(device.io, now);
    kstat::waitq_to_runq(device.io, now);
    publish(device.io.reads, device.io.reads + 1);
    publish(device.io.nread, device.io.nread + 4096);
    kstat::runq_exit(device.io, now_unscaled());
}

void count_under_a_sequence(const Line& line) {
    Device device;
    kstat_t* const ksp =
        kstat_create("seq", 0, nullptr, "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_VIRTUAL);
    ksp->ks_private = &device;
    ksp->ks_snapshot = snapshot;
    ksp->ks_data = &device.io;
    kstat_install(ksp);
    std::atomic<bool> done{false};
    std::thread worker([&] {
        while (!done) {
            count_one_read(device);
            std::this_thread::yield();  // as above
        }
    });
    take_turns(line);
    done = true;
    worker.join();
    kstat_delete(ksp);
}

TEST_F(KstatRace, ASequenceLockedDeviceIsReadWhole) {
    ReadyChild child(count_under_a_sequence);
    open();
    kstat_io_t last{};
    hrtime_t last_time = 0;
    for (int i = 0; i < 300; ++i) {
        kstat_io_t io;
        ASSERT_NE(kstat_read(kc, lookup("seq"), &io), -1);
        EXPECT_EQ(static_cast<uint_t>(io.nread / 4096), io.reads);
        EXPECT_EQ(io.wcnt + io.rcnt, 0u);
        EXPECT_GE(io.rtime, last.rtime);
        EXPECT_LE(io.rtime - last.rtime, lookup("seq")->ks_snaptime - last_time);
        last = io;
        last_time = lookup("seq")->ks_snaptime;
    }
    child.line().say('q');
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace

}  // namespace blkscope
