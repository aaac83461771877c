// The other kstats of a device: errors, wake-ups, timers.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/accounting/error_counts.hpp"
#include "blockdev/accounting/timer.hpp"
#include "device_fixture.hpp"

namespace blkscope {
namespace {

using Counts = std::map<std::string, uint64_t>;

class DeviceKstats : public DeviceTest {
  protected:
    static std::vector<kstat_named_t> error_records() {
        const auto data = read_data("nbderr", "nbd0,err");
        std::vector<kstat_named_t> records(14);
        EXPECT_GE(data.size(), records.size() * sizeof(kstat_named_t));
        if (data.size() >= records.size() * sizeof(kstat_named_t)) {
            std::memcpy(records.data(), data.data(), records.size() * sizeof(kstat_named_t));
        }
        return records;
    }

    /// The counters that are not 0.
    static Counts errors() {
        Counts counts;
        for (const kstat_named_t& record : error_records()) {
            if (record.data_type != KSTAT_DATA_UINT32 || record.value.ui32 == 0) continue;
            counts[record.name] = record.value.ui32;
        }
        return counts;
    }

    static kstat_intr_t intr() { return read_record<kstat_intr_t>("nbd0,intr"); }

    static kstat_timer_t timer(const std::string& name) {
        for (size_t i = 0; i < 4; ++i) {
            const auto record = read_record<kstat_timer_t>("nbd0,timers", i);
            if (name == record.name) return record;
        }
        ADD_FAILURE() << "no timer " << name;
        return {};
    }

    /// Runs one request, which ends with `result`.
    void one(Buf::Op op, int32_t result) {
        TestBuf buf(op);
        device_->strategy(buf);
        finish_first(result);
        EXPECT_EQ(buf.done, 1);
    }
};

TEST_F(DeviceKstats, ErrorRecordsHaveTheOrderThatReportersExpect) {
    make(1);
    const std::vector<std::string> names{"Soft Errors",      "Hard Errors", "Transport Errors",
                                         "Vendor",           "Product",     "Revision",
                                         "Serial No",        "Size",        "Media Error",
                                         "Device Not Ready", "No Device",   "Recoverable",
                                         "Illegal Request"};
    const auto records = error_records();
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(records[i].name, names[i]);
    EXPECT_EQ(std::string(records[13].name), "Predictive Failure Analysis");
    EXPECT_EQ(records[7].value.ui64, device_bytes);
    const auto data = read_data("nbderr", "nbd0,err");
    const std::string strings(
        reinterpret_cast<const char*>(data.data()) + records.size() * sizeof(kstat_named_t),
        data.size() - records.size() * sizeof(kstat_named_t));
    EXPECT_TRUE(strings.starts_with(std::string("blkscope\0scripted\0", 18))) << strings;
}

TEST_F(DeviceKstats, AFailedRequestIsAHardErrorAndItsCause) {
    make(1);
    one(Buf::Op::read, -EIO);
    EXPECT_EQ(errors(), (Counts{{"Hard Errors", 1}, {"Media Error", 1}}));
    one(Buf::Op::write, -ENXIO);
    one(Buf::Op::write, -ENOSPC);
    EXPECT_EQ(errors(), (Counts{{"Hard Errors", 3}, {"Media Error", 1}, {"No Device", 1}}));
}

TEST_F(DeviceKstats, WhatTheKernelRefusesIsATransportError) {
    make(1);
    one(Buf::Op::read, -EINVAL);
    one(Buf::Op::read, -ETIMEDOUT);
    EXPECT_EQ(errors(), (Counts{{"Transport Errors", 2}}));
}

TEST_F(DeviceKstats, ARequestThatSucceedsAfterARetryIsOneSoftError) {
    make(1);
    TestBuf buf(Buf::Op::read);
    device_->strategy(buf);
    finish_first(-EAGAIN);
    finish_first(-EINTR);
    EXPECT_EQ(errors(), Counts{});
    finish_first(4096);
    EXPECT_EQ(errors(), (Counts{{"Soft Errors", 1}, {"Recoverable", 1}}));
}

TEST_F(DeviceKstats, ARequestThatNeverStopsBeingInterruptedIsAHardError) {
    make(1);
    TestBuf buf(Buf::Op::read);
    device_->strategy(buf);
    while (buf.done == 0) finish_first(-EAGAIN);
    EXPECT_EQ(errors(), (Counts{{"Hard Errors", 1}, {"Device Not Ready", 1}}));
}

TEST_F(DeviceKstats, ARefusedRequestIsIllegalAndNothingElse) {
    make(1);
    TestBuf buf(Buf::Op::read, device_bytes, 512);
    device_->strategy(buf);
    device_->first_lane().request_refused();
    EXPECT_EQ(errors(), (Counts{{"Illegal Request", 2}}));
}

TEST_F(DeviceKstats, ErrorsCanBeReadWhenTheDeviceHasGoneAndTheNextOneCountsFromZero) {
    make(1);
    one(Buf::Op::read, -EIO);
    device_.reset();
    EXPECT_EQ(errors(), (Counts{{"Hard Errors", 1}, {"Media Error", 1}}));
    make(1);
    EXPECT_EQ(errors(), Counts{});
}

TEST_F(DeviceKstats, AWakeUpIsOneHardInterruptHoweverManyCompletionsItBrings) {
    make(4);
    std::vector<TestBuf> bufs(4, TestBuf(Buf::Op::read));
    for (TestBuf& buf : bufs) device_->strategy(buf);
    for (int i = 0; i < 3; ++i) backing_->finish_first(4096);
    ring_->wait();
    ring_->dispatch();
    finish_first(4096);
    const kstat_intr_t counts = intr();
    EXPECT_EQ(counts.intrs[KSTAT_INTR_HARD], 2u);
    EXPECT_EQ(counts.intrs[KSTAT_INTR_MULTSVC], 2u);
    EXPECT_EQ(counts.intrs[KSTAT_INTR_SPURIOUS], 0u);
}

// A signal ends the sleep, while nothing has completed.
TEST_F(DeviceKstats, AWakeUpThatBringsNothingIsSpurious) {
    make(1);
    ring_->wait(false);  // without sleep, so this is no wake-up
    ring_->dispatch();
    EXPECT_EQ(intr().intrs[KSTAT_INTR_SPURIOUS], 0u);

    struct sigaction action {};
    action.sa_handler = [](int) {};
    struct sigaction before {};
    sigaction(SIGALRM, &action, &before);
    itimerval soon{};
    soon.it_value.tv_usec = 10'000;
    soon.it_interval.tv_usec = 10'000;  // a signal before the sleep would be missed
    setitimer(ITIMER_REAL, &soon, nullptr);
    ring_->wait();
    ring_->dispatch();
    const itimerval off{};
    setitimer(ITIMER_REAL, &off, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    EXPECT_EQ(intr().intrs[KSTAT_INTR_SPURIOUS], 1u);
}

TEST_F(DeviceKstats, HandOversAndClientsGivenUpAreCounted) {
    make(1);
    device_->first_lane().connection_opened();
    device_->first_lane().connection_opened();
    device_->first_lane().connection_given_up();
    device_->first_lane().connection_closed();
    EXPECT_EQ(intr().intrs[KSTAT_INTR_SOFT], 2u);
    EXPECT_EQ(intr().intrs[KSTAT_INTR_WATCHDOG], 1u);
}

TEST_F(DeviceKstats, TimersHaveTheStaysOfFlushesTrimsAndZeroes) {
    make(3);
    TestBuf flush(Buf::Op::flush), trim(Buf::Op::trim), zeroes(Buf::Op::write_zeroes);
    device_->strategy(flush);
    device_->strategy(trim);
    device_->strategy(zeroes);
    finish_first(0);
    finish_first(4096);
    finish_first(1000);  // a part of the zeroes
    finish_first(0);
    const kstat_timer_t one_flush = timer("flush");
    EXPECT_EQ(one_flush.num_events, 1u);
    EXPECT_EQ(one_flush.elapsed_time, to_ns(flush.finished - flush.started));
    EXPECT_EQ(one_flush.min_time, one_flush.elapsed_time);
    EXPECT_EQ(one_flush.max_time, one_flush.elapsed_time);
    EXPECT_EQ(one_flush.start_time, to_ns(flush.started));
    EXPECT_EQ(one_flush.stop_time, to_ns(flush.finished));
    EXPECT_EQ(timer("trim").elapsed_time, to_ns(trim.finished - trim.started));
    EXPECT_EQ(timer("write_zeroes").elapsed_time, to_ns(zeroes.finished - zeroes.started));
}

TEST_F(DeviceKstats, ATurnThatHandsSomethingOverIsOneSubmitEventFromTheFirstOfItOn) {
    make(2);
    TestBuf read(Buf::Op::read), flush(Buf::Op::flush), write(Buf::Op::write);
    device_->strategy(read);
    device_->strategy(flush);
    device_->strategy(write);  // waits: the device is full
    EXPECT_EQ(timer("submit").num_events, 0u);
    const hrtime_t before = now_unscaled();
    ring_->wait(false);
    const kstat_timer_t submit = timer("submit");
    EXPECT_EQ(submit.num_events, 1u);
    EXPECT_EQ(submit.start_time, to_ns(read.started));
    EXPECT_GE(submit.stop_time, to_ns(before));
    ring_->wait(false);  // nothing to submit
    EXPECT_EQ(timer("submit").num_events, 1u);

    finish_first(1000);  // the rest of a short read is read again
    ring_->wait(false);
    EXPECT_EQ(timer("submit").num_events, 2u);
    finish_first(0);
    finish_first(3096);
    finish_first(4096);
}

TEST(Timer, KeepsTheShortestAndTheLongestOfItsEvents) {
    Timer timer;
    timer.event(100, 130);
    timer.event(200, 210);
    timer.event(300, 350);
    EXPECT_EQ(timer.events, 3u);
    EXPECT_EQ(timer.elapsed, 90);
    EXPECT_EQ(timer.shortest, 10);
    EXPECT_EQ(timer.longest, 50);
    EXPECT_EQ(timer.started, 300);
    EXPECT_EQ(timer.stopped, 350);
}

TEST_F(DeviceKstats, EachOperationHasItsThreeRecords) {
    make(1);
    const std::array<const char*, Buf::op_count> names{
        "read", "write", "flush", "trim", "write_zeroes", "cache", "block_status"};
    for (size_t op = 0; op < names.size(); ++op) {
        const std::string name = names[op];
        EXPECT_EQ(Buf::name_of(static_cast<Buf::Op>(op)), name);
        EXPECT_EQ(read_record<kstat_named_t>("nbd0,cmds", 3 * op).name, name + "_requests");
        EXPECT_EQ(read_record<kstat_named_t>("nbd0,cmds", 3 * op + 1).name, name + "_bytes");
        EXPECT_EQ(read_record<kstat_named_t>("nbd0,cmds", 3 * op + 2).name, name + "_errors");
    }
}

// The records of the errno kstat.
Counts errno_records() {
    const auto data = read_data("nbd", "nbd0,errno");
    Counts counts;
    for (size_t at = 0; at + sizeof(kstat_named_t) <= data.size(); at += sizeof(kstat_named_t)) {
        kstat_named_t record;
        std::memcpy(&record, data.data() + at, sizeof record);
        counts[record.name] = record.value.ui64;
    }
    return counts;
}

TEST_F(DeviceKstats, FailuresAreCountedByOperationAndErrno) {
    make(1);
    EXPECT_EQ(errno_records(), (Counts{{"other", 0}}));
    one(Buf::Op::read, -EIO);
    one(Buf::Op::read, 4096);
    one(Buf::Op::read, -EIO);
    one(Buf::Op::write, -ENOSPC);
    EXPECT_EQ(errno_records(), (Counts{{"read_EIO", 2}, {"write_ENOSPC", 1}, {"other", 0}}));
}

TEST_F(DeviceKstats, ErrnosWithoutARecordAreCountedTogether) {
    make(1);
    for (int error = 1; error <= 20; ++error) {
        if (error != EINTR && error != EAGAIN) one(Buf::Op::read, -error);
    }
    const Counts counts = errno_records();
    EXPECT_EQ(counts.size(), 17u);
    EXPECT_EQ(counts.at("read_EPERM"), 1u);
    EXPECT_EQ(counts.at("other"), 2u);
}

}  // namespace
}  // namespace blkscope
