// The recorder of a worker and the slowest requests of a device.
#include "blockdev/accounting/recorder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/accounting/slowest.hpp"
#include "blockdev/queue/client.hpp"
#include "device_fixture.hpp"

namespace blkscope {
namespace {

class RecorderTest : public DeviceTest {
  protected:
    void SetUp() override {
        DeviceTest::SetUp();
        make(4);
        number_ = static_cast<uint32_t>(device_->instance());
    }

    /// Runs a write with an offset, and records it.
    void record(Recorder& recorder, uint64_t offset) {
        TestBuf buf(Buf::Op::write, offset, 512);
        buf.received = ring_->now();
        device_->strategy(buf);
        finish_first(512);
        buf.replied = ring_->now();
        recorder.record(buf);
    }

    std::vector<trace::Request> read(const Recorder& recorder, uint64_t from = 0,
                                     size_t most = 1000) {
        std::vector<trace::Request> requests;
        last_ = recorder.read(from, most, number_, requests);
        return requests;
    }

    uint32_t number_ = 0;
    Recorder::Read last_;
};

TEST_F(RecorderTest, ARecordIsTheRequest) {
    Recorder recorder(linux_kernel(), 8);
    TestBuf buf(Buf::Op::write, 4096, 512);
    buf.fua = true;
    buf.received = ring_->now();
    device_->strategy(buf);
    backing_->finish_first(-EIO);
    ring_->dispatch();
    buf.replied = buf.finished + to_ticks(1'000'000);
    Client client;  // without statistics, so the device does not get it
    client.number = 3;
    buf.client = &client;
    buf.cookie = 17;
    buf.upstream_cookie = UINT64_MAX;
    recorder.record(buf);
    const auto requests = read(recorder);
    ASSERT_EQ(requests.size(), 1u);
    const trace::Request& request = requests.front();
    EXPECT_EQ(request.op, trace::Op::write);
    EXPECT_EQ(request.flags, trace::flag::fua);
    EXPECT_EQ(request.error, EIO);
    EXPECT_EQ(request.offset, 4096u);
    EXPECT_EQ(request.bytes, 512u);
    EXPECT_EQ(request.client, 3u);
    EXPECT_EQ(request.cookie, 17u);
    EXPECT_EQ(request.upstream_cookie, UINT64_MAX);
    EXPECT_EQ(request.queued, to_ns(buf.queued));
    EXPECT_EQ(request.started, to_ns(buf.started));
    EXPECT_EQ(request.finished, to_ns(buf.finished));
    EXPECT_EQ(request.replied, to_ns(buf.replied));
    EXPECT_LE(request.received, request.queued);
    EXPECT_GT(request.received, 0);
}

TEST_F(RecorderTest, OldRecordsAreOverwrittenAndCounted) {
    Recorder recorder(linux_kernel(), 4);
    for (uint64_t i = 0; i < 10; ++i) record(recorder, i * 512);
    EXPECT_EQ(recorder.head(), 10u);
    const auto requests = read(recorder, 2);
    // The oldest of the four might be being overwritten.
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_EQ(requests.front().offset, 7u * 512);
    EXPECT_EQ(last_.lost, 5u);  // 2 to 6
    EXPECT_EQ(last_.next, 10u);
    EXPECT_TRUE(read(recorder, 10).empty());
    EXPECT_EQ(last_.lost, 0u);
}

TEST_F(RecorderTest, AReaderGoesOnWhereItWas) {
    Recorder recorder(linux_kernel(), 100);
    for (uint64_t i = 0; i < 7; ++i) record(recorder, i * 512);
    EXPECT_EQ(read(recorder, 0, 5).size(), 5u);
    EXPECT_EQ(last_.next, 5u);
    EXPECT_EQ(read(recorder, last_.next, 5).size(), 2u);
    EXPECT_TRUE(read(recorder, 1'000'000).empty());  // of a server that was there before
    EXPECT_EQ(last_.next, 7u);
}

TEST_F(RecorderTest, RequestsOfOtherDevicesAreLeftOut) {
    Recorder recorder(linux_kernel(), 100);
    record(recorder, 0);
    std::vector<trace::Request> requests;
    EXPECT_EQ(recorder.read(0, 100, number_ + 1, requests).next, 1u);
    EXPECT_TRUE(requests.empty());
}

TEST_F(RecorderTest, WithoutRecordsItRecordsNothing) {
    Recorder recorder(linux_kernel(), 0);
    record(recorder, 0);
    EXPECT_EQ(recorder.head(), 0u);
    EXPECT_TRUE(read(recorder).empty());
}

// Each record has one number in several fields, so a record of two halves would be seen.
TEST_F(RecorderTest, AReaderBesideTheWorkerSeesWholeRecordsOnly) {
    Recorder recorder(linux_kernel(), 64);
    TestBuf buf(Buf::Op::write, 0, 512);
    device_->strategy(buf);
    finish_first(512);
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        for (uint64_t i = 1; !stop; ++i) {
            buf.offset = buf.bcount = buf.drawn_ns = i;
            recorder.record(buf);
        }
    });
    uint64_t next = 0;
    uint64_t counted = 0;
    uint64_t before = 0;
    while (counted < 20'000) {
        const auto requests = read(recorder, next);
        counted += requests.size() + last_.lost;
        for (const trace::Request& request : requests) {
            ASSERT_EQ(request.offset, request.bytes);
            ASSERT_EQ(request.offset, request.drawn_ns);
            ASSERT_GT(request.offset, before);
            before = request.offset;
        }
        next = last_.next;
    }
    stop = true;
    worker.join();
    EXPECT_EQ(counted, next);
}

// ---- Slowest ----

class SlowestTest : public DeviceTest {
  protected:
    static constexpr hrtime_t second = 1'000'000'000;

    /// A request of which the reply was sent at `at_ns`, after `total_ns`.
    void reply(Slowest& slowest, hrtime_t at_ns, hrtime_t total_ns) {
        TestBuf buf(Buf::Op::read);
        buf.lane = &device_->first_lane();
        buf.replied = to_ticks(at_ns);
        buf.received = to_ticks(at_ns - total_ns);
        buf.queued = buf.started = buf.finished = buf.received;
        slowest.replied(buf);
    }

    Seqlock seq_;
    Subject subject_;
};

TEST_F(SlowestTest, KeepsTheSlowestOfEachSecond) {
    make(4);
    Slowest slowest(seq_, subject_);
    for (hrtime_t i = 1; i <= 1000; ++i) reply(slowest, 100 * second + i, i * 1000 * (i % 2 + 1));
    auto requests = slowest.list(100 * second, 0);
    ASSERT_EQ(requests.size(), Slowest::per_second);
    // The slowest are the odd ones, which take 2000 i.
    for (size_t i = 0; i < requests.size(); ++i) {
        const auto expected = static_cast<int64_t>(2000 * (999 - 2 * i));
        EXPECT_NEAR(static_cast<double>(requests[i].replied - requests[i].received),
                    static_cast<double>(expected), 2)
            << i;
    }
    EXPECT_EQ(slowest.list(100 * second, 1'990'000).size(), 3u);
}

TEST_F(SlowestTest, ForgetsASecondAfterAMinute) {
    make(4);
    Slowest slowest(seq_, subject_);
    reply(slowest, 100 * second + 5, 1000);
    reply(slowest, 130 * second + 5, 2000);
    EXPECT_EQ(slowest.list(159 * second, 0).size(), 2u);
    EXPECT_EQ(slowest.list(160 * second, 0).size(), 1u);
    EXPECT_EQ(slowest.list(189 * second, 0).size(), 1u);
    EXPECT_TRUE(slowest.list(190 * second, 0).empty());
    reply(slowest, 160 * second + 5, 3000);  // the same place as that of the first
    EXPECT_EQ(slowest.list(161 * second, 0).size(), 2u);
}

TEST_F(SlowestTest, TheDeviceHasThem) {
    make(4);
    TestBuf buf(Buf::Op::read, 512, 512);
    buf.received = ring_->now();
    device_->strategy(buf);
    finish_first(512);
    buf.replied = buf.finished + to_ticks(5'000'000);
    device_->first_lane().replied(buf);
    ring_->unlock();
    ASSERT_EQ(device_->slowest(5'000'000).size(), 1u);
    EXPECT_EQ(device_->slowest(5'000'000).front().offset, 512u);
    EXPECT_TRUE(device_->slowest(3'600'000'000'000).empty());
}

}  // namespace
}  // namespace blkscope
