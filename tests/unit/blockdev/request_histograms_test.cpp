// The histograms of the requests of a device.

#include "blockdev/accounting/request_histograms.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "device_fixture.hpp"

namespace blkscope {
namespace {

using Histograms = RequestHistograms;

template <class Counts>
uint64_t sum(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// The bounds for the sum of the counted values, as the buckets give them.
template <class Counts>
std::pair<uint64_t, uint64_t> bounds_of_sum(const Counts& counts, const kstat2::Buckets& shape) {
    std::pair<uint64_t, uint64_t> bounds{0, 0};
    for (uint32_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) continue;
        bounds.first += counts[i] * shape.lower(i);
        bounds.second += counts[i] * shape.upper(i);
    }
    return bounds;
}

class RequestHistogramsTest : public DeviceTest {
  protected:
    const Histograms::Counts& counts() { return device_->histograms().counts(); }
    const Histograms::Operation& of(Buf::Op op) {
        return counts().operations[static_cast<size_t>(op)];
    }

    /// The number of requests. The three histograms of times must agree on it.
    uint64_t counted(Buf::Op op) {
        EXPECT_EQ(sum(of(op).wait), sum(of(op).service));
        EXPECT_EQ(sum(of(op).wait), sum(of(op).total));
        return sum(of(op).total);
    }

    /// Runs one request, which ends with `result`, or with all of its bytes.
    void one(Buf::Op op, uint32_t bytes = 4096, std::optional<int32_t> result = {}) {
        TestBuf buf(op, 0, bytes);
        device_->strategy(buf);
        finish_first(result.value_or(static_cast<int32_t>(buf.bcount)));
        EXPECT_EQ(buf.done, 1);
    }
};

TEST_F(RequestHistogramsTest, EveryRequestIsCountedInItsOwnHistogramsOnly) {
    make(4);
    const std::vector<Buf::Op> ops{Buf::Op::read, Buf::Op::write, Buf::Op::flush, Buf::Op::trim,
                                   Buf::Op::write_zeroes};
    for (size_t i = 0; i < ops.size(); ++i) {
        for (size_t n = 0; n <= i; ++n) one(ops[i]);
    }
    for (size_t i = 0; i < ops.size(); ++i) EXPECT_EQ(counted(ops[i]), i + 1);
    EXPECT_EQ(sum(counts().latency), 3u);  // one read and two writes
    EXPECT_EQ(sum(counts().depth), 3u);
}

TEST_F(RequestHistogramsTest, WhatNobodyWaitsForIsNotCounted) {
    make(4);
    TestBuf hint(Buf::Op::cache);
    device_->strategy(hint);
    finish_first(static_cast<int32_t>(hint.bcount));
    hint.replied = hint.finished;
    device_->first_lane().replied(hint);
    for (const Histograms::Operation& operation : counts().operations) {
        EXPECT_EQ(sum(operation.total), 0u);
        EXPECT_EQ(sum(operation.reply), 0u);
    }
}

TEST_F(RequestHistogramsTest, AFailedRequestIsCountedAndARefusedOneIsNot) {
    make(4);
    one(Buf::Op::read, 4096, -EIO);
    EXPECT_EQ(counted(Buf::Op::read), 1u);
    TestBuf outside(Buf::Op::read, device_bytes, 512);
    device_->strategy(outside);
    EXPECT_EQ(outside.error, EINVAL);
    EXPECT_EQ(counted(Buf::Op::read), 1u);
}

TEST_F(RequestHistogramsTest, ARequestThatGoesRoundAgainIsCountedOnce) {
    make(4);
    TestBuf buf(Buf::Op::read);
    device_->strategy(buf);
    finish_first(-EAGAIN);
    finish_first(1024);
    EXPECT_EQ(counted(Buf::Op::read), 0u);
    finish_first(3072);
    EXPECT_EQ(counted(Buf::Op::read), 1u);
}

TEST_F(RequestHistogramsTest, SizesAreCountedByTheirPowerOfTwo) {
    make(4);
    one(Buf::Op::read, 512);
    one(Buf::Op::read, 4096);
    one(Buf::Op::read, 4097);
    one(Buf::Op::write, 1);
    one(Buf::Op::flush);
    EXPECT_EQ(of(Buf::Op::read).size[10], 1u);
    EXPECT_EQ(of(Buf::Op::read).size[13], 2u);
    EXPECT_EQ(of(Buf::Op::write).size[1], 1u);
    EXPECT_EQ(sum(of(Buf::Op::flush).size), 0u);
}

// `received` and `replied` are the caller's, so the test chooses them.
TEST_F(RequestHistogramsTest, ReceiveAndReplyAreBesideTheStagesInTheDevice) {
    make(4);
    TestBuf buf(Buf::Op::write);
    buf.received = ring_->now();
    device_->strategy(buf);
    finish_first(4096);
    EXPECT_EQ(counted(Buf::Op::write), 1u);
    const auto& write = of(Buf::Op::write);
    EXPECT_EQ(write.receiving, static_cast<uint64_t>(buf.queued - buf.received));
    EXPECT_EQ(sum(write.receive), 1u);
    EXPECT_EQ(sum(write.reply), 0u);
    buf.replied = buf.finished + to_ticks(2'100'000);
    device_->first_lane().replied(buf);
    EXPECT_EQ(write.replying, static_cast<uint64_t>(buf.replied - buf.finished));
    EXPECT_EQ(write.reply[Histograms::latency_steps.index(2'100'000)], 1u);
    EXPECT_EQ(counted(Buf::Op::write), 1u);
}

TEST_F(RequestHistogramsTest, ARequestWithoutAConnectionHasNoReceive) {
    make(4);
    one(Buf::Op::write);
    EXPECT_EQ(sum(of(Buf::Op::write).receive), 0u);
}

TEST_F(RequestHistogramsTest, DepthIsHowManyReadsAndWritesWereThereBefore) {
    make(2);
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (int i = 0; i < 300; ++i) {
        bufs.push_back(std::make_unique<TestBuf>(i % 2 == 0 ? Buf::Op::read : Buf::Op::write));
        device_->strategy(*bufs.back());
    }
    TestBuf trim(Buf::Op::trim);
    device_->strategy(trim);
    while (trim.done == 0) finish_first(4096);
    for (size_t met = 0; met < 257; ++met) EXPECT_EQ(counts().depth[met], 1u) << met;
    EXPECT_EQ(counts().depth[257], 300u - 257u);
}

// The stamps are the request's own, so a test can compute its three buckets.
TEST_F(RequestHistogramsTest, TheBucketsAreThoseOfTheRequestsOwnStamps) {
    make(4);
    TestBuf buf(Buf::Op::write);
    device_->strategy(buf);
    const hrtime_t until = now_ns() + 2'000'000;
    while (now_ns() < until) {
    }
    finish_first(4096);
    const auto wait = static_cast<uint64_t>(to_ns(buf.started - buf.queued));
    const auto service = static_cast<uint64_t>(to_ns(buf.finished - buf.started));
    const auto& steps = Histograms::latency_steps;
    EXPECT_GE(service, 2'000'000u);
    EXPECT_EQ(of(Buf::Op::write).wait[steps.index(wait)], 1u);
    EXPECT_EQ(of(Buf::Op::write).service[steps.index(service)], 1u);
    EXPECT_EQ(of(Buf::Op::write).total[steps.index(wait + service)], 1u);
    EXPECT_EQ(counts().latency[Histograms::powers_of_2.index(wait + service)], 1u);
}

// kstat_io's integral of a queue is the sum of all stays. The histogram gives bounds for it.
TEST_F(RequestHistogramsTest, TheQueuesTimesLieWithinTheBoundsOfTheHistograms) {
    make(3);
    std::mt19937 random(20261121);
    std::vector<std::unique_ptr<TestBuf>> bufs;
    size_t held = 0;
    const size_t requests = 2000;
    while (bufs.size() < requests || held > 0) {
        if (bufs.size() < requests && (held == 0 || random() % 2 == 0)) {
            bufs.push_back(
                std::make_unique<TestBuf>(random() % 2 == 0 ? Buf::Op::read : Buf::Op::write));
            device_->strategy(*bufs.back());
            ++held;
        } else {
            finish_first(random() % 16 == 0 ? -EIO : 4096);
            --held;
        }
    }
    std::pair<uint64_t, uint64_t> waited{0, 0};
    std::pair<uint64_t, uint64_t> served{0, 0};
    for (const Buf::Op op : {Buf::Op::read, Buf::Op::write}) {
        const auto wait = bounds_of_sum(of(op).wait, Histograms::latency_steps);
        const auto service = bounds_of_sum(of(op).service, Histograms::latency_steps);
        waited = {waited.first + wait.first, waited.second + wait.second};
        served = {served.first + service.first, served.second + service.second};
    }
    EXPECT_EQ(counted(Buf::Op::read) + counted(Buf::Op::write), requests);
    const kstat_io_t& io = device_->io();
    const auto wlentime = static_cast<uint64_t>(to_ns(io.wlentime));
    const auto rlentime = static_cast<uint64_t>(to_ns(io.rlentime));
    const uint64_t rounding_ns = requests;  // each stay was rounded down
    EXPECT_GE(wlentime, waited.first);
    EXPECT_LE(wlentime, waited.second + rounding_ns);
    EXPECT_GE(rlentime, served.first);
    EXPECT_LE(rlentime, served.second + rounding_ns);
    EXPECT_EQ(static_cast<hrtime_t>(of(Buf::Op::read).waited + of(Buf::Op::write).waited),
              io.wlentime);
    EXPECT_EQ(static_cast<hrtime_t>(of(Buf::Op::read).served + of(Buf::Op::write).served),
              io.rlentime);
}

TEST_F(RequestHistogramsTest, SwitchedOffTheyCountNothingAndSwitchedOnTheyBeginAtZero) {
    make(4);
    one(Buf::Op::read);
    device_->histograms().switch_off();
    TestBuf uncounted(Buf::Op::read);
    device_->strategy(uncounted);
    finish_first(4096);
    uncounted.replied = uncounted.finished;
    device_->first_lane().replied(uncounted);
    EXPECT_EQ(counted(Buf::Op::read), 1u);
    EXPECT_EQ(sum(of(Buf::Op::read).reply), 0u);
    device_->histograms().switch_on();
    EXPECT_EQ(counted(Buf::Op::read), 0u);
    EXPECT_EQ(of(Buf::Op::read).served, 0u);
    one(Buf::Op::read);
    EXPECT_EQ(counted(Buf::Op::read), 1u);
}

// A request is counted as a whole or not at all. switch_on() clears all earlier counts.
TEST_F(RequestHistogramsTest, SwitchingWhileRequestsComeTearsNoneApart) {
    make(4);
    std::atomic<bool> ended{false};
    std::thread other([&] {
        while (!ended) {
            device_->histograms().switch_off();
            device_->histograms().switch_on();
        }
    });
    for (int i = 0; i < 20'000; ++i) one(i % 2 == 0 ? Buf::Op::read : Buf::Op::write);
    ended = true;
    other.join();
    EXPECT_EQ(counted(Buf::Op::read) + counted(Buf::Op::write), sum(counts().latency));
    EXPECT_EQ(sum(counts().latency), sum(counts().depth));
    const uint64_t before = counted(Buf::Op::read);
    one(Buf::Op::read);
    EXPECT_EQ(counted(Buf::Op::read), before + 1);
}

// ---- The memory of the counts ----

// Resident pages of the counts. No test may have read the counts before: then the shared page of
// zeroes would count as resident.
size_t resident_pages(const Histograms::Counts& counts) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> resident((sizeof counts + page - 1) / page);
    void* const start = const_cast<Histograms::Counts*>(&counts);
    EXPECT_EQ(mincore(start, sizeof counts, resident.data()), 0) << std::strerror(errno);
    return static_cast<size_t>(std::count_if(resident.begin(), resident.end(),
                                             [](unsigned char state) { return (state & 1) != 0; }));
}

TEST_F(RequestHistogramsTest, TheCountsOfAnIdleDeviceAreNotResident) {
    make(4);
    ASSERT_TRUE(device_->histograms().on());
    EXPECT_EQ(resident_pages(counts()), 0u);
    one(Buf::Op::read);
    EXPECT_GT(resident_pages(counts()), 0u);
    EXPECT_EQ(counted(Buf::Op::read), 1u);
}

TEST_F(RequestHistogramsTest, ABeginningAtZeroGivesThePagesBack) {
    make(4);
    one(Buf::Op::read);
    one(Buf::Op::write);
    ASSERT_GT(resident_pages(counts()), 0u);
    device_->histograms().switch_on();
    EXPECT_EQ(resident_pages(counts()), 0u);
    EXPECT_EQ(counted(Buf::Op::read) + counted(Buf::Op::write), 0u);
}

TEST(TickScale, ScalesAsSnapshotsDo) {
    const TickScale scale;
    std::mt19937_64 random(20261121);
    for (int i = 0; i < 10'000; ++i) {
        const uint64_t ticks = random() >> (1 + random() % 62);
        EXPECT_EQ(scale.to_ns(ticks), static_cast<uint64_t>(to_ns(static_cast<hrtime_t>(ticks))));
    }
}

}  // namespace
}  // namespace blkscope
