#include "blockdev/device/device.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "device_fixture.hpp"

namespace blkscope {
namespace {

TEST_F(DeviceTest, GivesTheBackingNoMoreThanItsDepth) {
    make(2);
    TestBuf a(Buf::Op::read), b(Buf::Op::write), c(Buf::Op::read);
    device_->strategy(a);
    device_->strategy(b);
    device_->strategy(c);
    EXPECT_EQ(backing_->held.size(), 2u);
    EXPECT_EQ(c.state, Buf::State::waiting);
    const kstat_io_t io = device_->io();
    EXPECT_EQ(io.wcnt, 1u);
    EXPECT_EQ(io.rcnt, 2u);

    finish_first(4096);
    EXPECT_EQ(a.done, 1);
    EXPECT_EQ(c.state, Buf::State::running);
    finish_first(4096);
    finish_first(4096);
    EXPECT_EQ(device_->io().wcnt + device_->io().rcnt, 0u);
}

TEST_F(DeviceTest, CountsOperationsAndBytesWhenTheyLeave) {
    make(8);
    TestBuf r(Buf::Op::read, 0, 1000), w(Buf::Op::write, 0, 3000);
    device_->strategy(r);
    device_->strategy(w);
    EXPECT_EQ(device_->io().reads, 0u);
    finish_first(1000);
    finish_first(3000);
    const kstat_io_t io = device_->io();
    EXPECT_EQ(io.reads, 1u);
    EXPECT_EQ(io.nread, 1000u);
    EXPECT_EQ(io.writes, 1u);
    EXPECT_EQ(io.nwritten, 3000u);
}

TEST_F(DeviceTest, AShortReadIsOneStayInTheRunQueue) {
    make(1);
    TestBuf buf(Buf::Op::read, 8192, 4096);
    device_->strategy(buf);
    finish_first(1024);
    EXPECT_EQ(buf.done, 0);
    ASSERT_EQ(backing_->held.size(), 1u);
    EXPECT_EQ(buf.resid, 3072u);
    EXPECT_EQ(device_->io().rcnt, 1u);
    finish_first(3072);
    EXPECT_EQ(buf.done, 1);
    EXPECT_EQ(device_->io().reads, 1u);
    EXPECT_EQ(device_->io().nread, 4096u);
}

TEST_F(DeviceTest, AFailedRequestIsCountedWithTheBytesThatItMoved) {
    make(1);
    TestBuf buf(Buf::Op::read);
    device_->strategy(buf);
    finish_first(512);
    finish_first(-EIO);
    EXPECT_EQ(buf.error, EIO);
    EXPECT_EQ(device_->io().reads, 1u);
    EXPECT_EQ(device_->io().nread, 512u);
    EXPECT_EQ(device_->io().rcnt, 0u);

    TestBuf next(Buf::Op::read);  // the device still works
    device_->strategy(next);
    finish_first(4096);
    EXPECT_EQ(next.error, 0);
}

TEST_F(DeviceTest, RefusesWhatLiesOutsideWithoutTouchingAQueue) {
    make(1);
    for (const auto& [at, bytes] : std::vector<std::pair<uint64_t, uint32_t>>{
             {device_bytes, 1}, {device_bytes - 1, 2}, {~uint64_t{0}, 4096}}) {
        TestBuf buf(Buf::Op::read, at, bytes);
        device_->strategy(buf);
        EXPECT_EQ(buf.done, 1);
        EXPECT_EQ(buf.error, EINVAL);
    }
    EXPECT_EQ(device_->io().wlastupdate, 0);
    EXPECT_TRUE(backing_->held.empty());
}

TEST_F(DeviceTest, RefusesWhatIsNotAlignedToTheBacking) {
    make(1, 512);
    TestBuf offset(Buf::Op::read, 100, 512), length(Buf::Op::read, 0, 100),
        good(Buf::Op::read, 512, 512);
    device_->strategy(offset);
    device_->strategy(length);
    device_->strategy(good);
    EXPECT_EQ(offset.error, EINVAL);
    EXPECT_EQ(length.error, EINVAL);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(512);
}

TEST_F(DeviceTest, FlushAndTrimStayOutOfTheIoQueues) {
    make(4);
    TestBuf flush(Buf::Op::flush), trim(Buf::Op::trim);
    device_->strategy(flush);
    device_->strategy(trim);
    EXPECT_EQ(device_->io().rcnt, 0u);
    finish_first(0);
    finish_first(0);
    EXPECT_EQ(flush.done, 1);
    EXPECT_EQ(trim.done, 1);
    EXPECT_EQ(device_->io().reads + device_->io().writes, 0u);
}

TEST_F(DeviceTest, FlushesThatArriveDuringOneShareTheNext) {
    make(4);
    TestBuf first(Buf::Op::flush), second(Buf::Op::flush), third(Buf::Op::flush);
    device_->strategy(first);
    device_->strategy(second);
    device_->strategy(third);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(0);
    EXPECT_EQ(first.done, 1);
    EXPECT_EQ(second.done, 0);  // the first flush may have begun before these writes ended
    ASSERT_EQ(backing_->held.size(), 1u);
    finish_first(0);
    EXPECT_EQ(second.done, 1);
    EXPECT_EQ(third.done, 1);
    EXPECT_TRUE(backing_->held.empty());
}

TEST_F(DeviceTest, AFlushThatFailedStaysFailed) {
    make(4);
    TestBuf first(Buf::Op::flush), second(Buf::Op::flush), write(Buf::Op::write),
        fua(Buf::Op::write);
    fua.fua = true;
    device_->strategy(first);
    device_->strategy(second);
    finish_first(-EIO);
    EXPECT_EQ(first.error, EIO);
    ASSERT_EQ(backing_->held.size(), 1u);  // a flush still syncs as much as it can
    finish_first(0);
    EXPECT_EQ(second.error, EIO);

    device_->strategy(write);
    finish_first(4096);
    EXPECT_EQ(write.error, 0);
    device_->strategy(fua);
    ring_->dispatch();
    EXPECT_EQ(fua.error, EIO);
    EXPECT_EQ(fua.done, 1);
}

/// Tries another method of zeroing if one is not supported, as a file does.
struct OtherWays final : ScriptedBacking {
    OtherWays() : ScriptedBacking(device_bytes) {}
    bool more(Buf& buf) override {
        if (!buf.discards() || buf.error != EOPNOTSUPP) return false;
        buf.error = 0;
        return true;
    }
};

// The backing does not see the sticky error of a sync, for which it would retry for ever.
TEST_F(DeviceTest, ASyncThatIsNotSupportedFailsZeroesWithFuaAtOnce) {
    auto backing = std::make_unique<OtherWays>();
    backing_ = backing.get();
    give(std::move(backing), 4);
    TestBuf flush(Buf::Op::flush), zeroes(Buf::Op::write_zeroes);
    zeroes.fua = true;
    device_->strategy(flush);
    finish_first(-EOPNOTSUPP);
    device_->strategy(zeroes);
    ring_->dispatch();
    EXPECT_EQ(zeroes.error, EOPNOTSUPP);
    EXPECT_EQ(zeroes.done, 1);
}

/// Syncs zeroes with FUA in a second step, as a file does.
struct TwoSteps final : ScriptedBacking {
    TwoSteps() : ScriptedBacking(device_bytes) {}
    bool more(Buf& buf) override {
        if (!buf.discards() || buf.step == Buf::Step::sync) return false;
        buf.step = Buf::Step::sync;
        return true;
    }
};

TEST_F(DeviceTest, ASyncOfZeroesThatEndsAfterAFailedSyncFailsToo) {
    auto backing = std::make_unique<TwoSteps>();
    backing_ = backing.get();
    give(std::move(backing), 4);
    TestBuf zeroes(Buf::Op::write_zeroes), flush(Buf::Op::flush);
    zeroes.fua = true;
    device_->strategy(zeroes);
    device_->strategy(flush);
    finish_first(4096);
    ASSERT_EQ(backing_->held.size(), 2u);  // the flush, and the sync of the zeroes
    finish_first(-EIO);
    EXPECT_EQ(flush.error, EIO);
    finish_first(0);
    EXPECT_EQ(zeroes.done, 1);
    EXPECT_EQ(zeroes.error, EIO);
}

/// Asks for a sync after a FUA write that failed, as a file does.
struct AsksWhy final : ScriptedBacking {
    AsksWhy() : ScriptedBacking(device_bytes) {}
    bool more(Buf& buf) override {
        if (buf.op != Buf::Op::write || buf.step == Buf::Step::sync) return false;
        buf.step = Buf::Step::sync;
        buf.write_error = std::exchange(buf.error, 0);
        return buf.write_error != 0;
    }
};

struct LostBuf : TestBuf {
    using TestBuf::TestBuf;
    [[nodiscard]] bool wanted() const override { return !is_lost; }
    [[nodiscard]] bool orphaned() override { return is_lost; }
    bool is_lost = false;
};

// The kernel has told the failure. No other sync is told it.
TEST_F(DeviceTest, ASyncThatFailedWithinAWriteIsNoticedThoughItsClientIsGone) {
    auto backing = std::make_unique<AsksWhy>();
    backing_ = backing.get();
    give(std::move(backing), 4);
    LostBuf write(Buf::Op::write);
    write.fua = true;
    device_->strategy(write);
    write.is_lost = true;
    finish_first(-EIO);
    ASSERT_EQ(backing_->held.size(), 1u);  // the sync that says why
    finish_first(-EIO);
    EXPECT_EQ(write.done, 1);
    TestBuf flush(Buf::Op::flush);
    device_->strategy(flush);
    finish_first(0);
    EXPECT_EQ(flush.error, EIO);
}

TEST_F(DeviceTest, ATrimThatFailedBeforeItsSyncLeavesFlushesAlone) {
    make(4);
    TestBuf trim(Buf::Op::trim), flush(Buf::Op::flush);
    trim.fua = true;
    device_->strategy(trim);
    finish_first(-EIO);
    EXPECT_EQ(trim.error, EIO);
    device_->strategy(flush);
    ASSERT_EQ(backing_->held.size(), 1u);
    finish_first(0);
    EXPECT_EQ(flush.error, 0);
}

// A backing that moves the bytes itself has then finished. The rest of a batch adds no time to it.
TEST_F(DeviceTest, OnTheSpotTheServiceEndsWhenTheBytesHaveMoved) {
    give(open_backing("memory:1M", {}), 64);
    std::vector<std::byte> data(4096);
    std::deque<TestBuf> batch;
    for (int i = 0; i < 64; ++i) {
        TestBuf& buf = batch.emplace_back(Buf::Op::write);
        buf.data = data.data();
        device_->strategy(buf);
        EXPECT_EQ(device_->io().rcnt, 0u);
        EXPECT_EQ(buf.done, 0);  // the answer comes from dispatch()
    }
    ring_->dispatch();
    for (size_t i = 0; i < batch.size(); ++i) {
        EXPECT_EQ(batch[i].done, 1);
        if (i == 0) continue;
        EXPECT_LE(batch[i - 1].finished, batch[i].started);
    }
    hrtime_t served = 0;
    for (const TestBuf& buf : batch) served += buf.finished - buf.started;
    EXPECT_EQ(device_->io().rlentime, served);
}

// Flushes wait for each other, not for the depth. A waiting flush takes no depth.
TEST_F(DeviceTest, AtDepthOneWaitingFlushesLeaveThePlaceToOthers) {
    make(1);
    TestBuf first(Buf::Op::flush), write(Buf::Op::write), second(Buf::Op::flush),
        third(Buf::Op::flush), read(Buf::Op::read);
    for (TestBuf* buf : {&first, &write, &second, &third, &read}) device_->strategy(*buf);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(0);  // the first flush
    EXPECT_EQ(backing_->held.front(), &write);
    finish_first(4096);
    EXPECT_EQ(backing_->held.front(), &second);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(0);
    while (!backing_->held.empty()) {
        EXPECT_EQ(backing_->held.size(), 1u);
        finish_first(backing_->held.front()->op == Buf::Op::flush ? 0 : 4096);
    }
    for (const TestBuf* buf : {&first, &write, &second, &third, &read}) {
        EXPECT_EQ(buf->done, 1);
        EXPECT_EQ(buf->error, 0);
    }
    EXPECT_EQ(device_->io().wcnt + device_->io().rcnt, 0u);
}

// One clock reading is used for the queues and the request. From idle to idle, the integrals are
// therefore the sums of the requests' own stays, to the tick.
TEST_F(DeviceTest, IdleToIdleTheIntegralsAreTheSumsOfTheStays) {
    make(3);
    std::mt19937 random(20261121);
    std::vector<std::unique_ptr<TestBuf>> bufs;
    hrtime_t waits = 0;
    hrtime_t runs = 0;
    for (int i = 0; i < 2000; ++i) {
        if (random() % 2 == 0) {
            bufs.push_back(
                std::make_unique<TestBuf>(random() % 2 ? Buf::Op::read : Buf::Op::write));
            device_->strategy(*bufs.back());
        } else if (!backing_->held.empty()) {
            finish_first(random() % 8 == 0 ? -EIO : 4096);
        }
    }
    while (!backing_->held.empty()) finish_first(4096);
    for (const auto& buf : bufs) {
        EXPECT_EQ(buf->done, 1);
        waits += buf->started - buf->queued;
        runs += buf->finished - buf->started;
    }
    const kstat_io_t io = device_->io();
    EXPECT_EQ(io.wlentime, waits);
    EXPECT_EQ(io.rlentime, runs);
    EXPECT_LE(io.rtime, io.rlentime);
    EXPECT_LE(io.rlentime, 3 * io.rtime);
    EXPECT_EQ(io.reads + io.writes, bufs.size());
}

}  // namespace
}  // namespace blkscope
