// A device with a model or limits, on a real ring: its times, its kstats and its live changes.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "behaviour_fixture.hpp"
#include "blockdev/model/service_model.hpp"

namespace blkscope {
namespace {

constexpr uint64_t late_ns_max = 1'000'000'000;  // the machine of a test may be busy

class DeviceModel : public BehaviourTest {
  protected:
    static Behaviour model(const std::string& text) {
        Behaviour behaviour;
        behaviour.model = model_of(text);
        return behaviour;
    }
    static Behaviour limits(const std::string& text) {
        Behaviour behaviour;
        behaviour.limits = limits_of(text);
        return behaviour;
    }
    std::vector<std::byte> memory_ = std::vector<std::byte>(4096);

    TestBuf request(Buf::Op op) {
        TestBuf buf(op);
        buf.data = memory_.data();
        return buf;
    }
};

TEST_F(DeviceModel, HoldsWhatAMemoryBackingAnswersAtOnce) {
    serve(model("read=const:50ms"));
    TestBuf buf = request(Buf::Op::read);
    device_->strategy(buf);
    settle();
    EXPECT_EQ(buf.done, 0);
    finish(buf);
    EXPECT_GE(stay_ns(buf), 50 * ms);
    EXPECT_LT(service_ns(buf), 50 * ms + late_ns_max);
    EXPECT_LT(wait_ns(buf), late_ns_max);
    EXPECT_EQ(device_->io().rlentime, buf.finished - buf.started);
    EXPECT_EQ(device_->io().wlentime, buf.started - buf.queued);
}

TEST_F(DeviceModel, AnOperationWithoutATimeIsNotHeld) {
    serve(model("read=const:10s"));
    TestBuf buf = request(Buf::Op::write);
    run(buf);
    EXPECT_LT(service_ns(buf), late_ns_max);
}

TEST_F(DeviceModel, TheLineOfOneServerIsService) {
    serve(model("read=const:3ms,servers=1"));
    TestBuf first = request(Buf::Op::read);
    TestBuf second = request(Buf::Op::read);
    device_->strategy(first);
    device_->strategy(second);
    finish(second);
    EXPECT_EQ(first.done, 1);
    EXPECT_LT(wait_ns(second), late_ns_max);
    EXPECT_GE(stay_ns(first, second), 6 * ms);
}

TEST_F(DeviceModel, TheLineBeforeTheDepthIsWait) {
    serve(model("read=const:3ms"), 1);
    TestBuf first = request(Buf::Op::read);
    TestBuf second = request(Buf::Op::read);
    device_->strategy(first);
    device_->strategy(second);
    finish(second);
    EXPECT_GE(second.started, first.finished);
    EXPECT_GE(stay_ns(first, second), 6 * ms);
}

// A second flush waits for the first one, and has a draw of its own.
TEST_F(DeviceModel, FlushesThatAreGatheredDrawOnce) {
    script(model("flush=const:2ms"));
    std::vector<std::unique_ptr<TestBuf>> flushes;
    for (int i = 0; i < 4; ++i) {
        flushes.push_back(std::make_unique<TestBuf>(Buf::Op::flush));
        device_->strategy(*flushes.back());
    }
    finish_first(0);
    finish(*flushes.front());
    finish_first(0);
    finish(*flushes.back());
    EXPECT_EQ(numbers("nbd", device_->name() + ",model").at("drawn"), 2u);
    EXPECT_GE(stay_ns(*flushes.front(), *flushes.back()), 4 * ms);
}

TEST_F(DeviceModel, AFlushBehindOneFromBeforeTheModelHasItsWholeTime) {
    script({});
    TestBuf first = request(Buf::Op::flush);
    TestBuf second = request(Buf::Op::flush);
    device_->strategy(first);
    device_->strategy(second);
    ring_->unlock();
    device_->set_model(model_of("flush=const:20ms"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    finish_first(0);
    finish(first);
    finish_first(0);
    finish(second);
    EXPECT_GE(static_cast<uint64_t>(to_ns(second.finished - first.finished)) + rounding_ns,
              20 * ms);
}

// A resume sets the processor's counter anew; the kernel's clock goes on.
void step_counter(hrtime_t ns) {
    detail::hot_clock.origin -= static_cast<uint64_t>(to_ticks(ns));
}

TEST_F(DeviceModel, AStepOfTheCounterNeitherHoldsARequestNorEndsIt) {
    if (!detail::hot_clock.counting)
        GTEST_SKIP() << "SKIPPED: the processor's counter is not the clock";
    serve(model("read=const:20ms"));
    for (const hrtime_t step : {-8'000'000'000, 8'000'000'000}) {
        TestBuf buf = request(Buf::Op::read);
        const hrtime_t since = monotonic_ns();
        device_->strategy(buf);
        step_counter(step);
        finish(buf);
        EXPECT_GE(monotonic_ns() - since, 20 * 1'000'000 - 1'000'000) << step;
        EXPECT_LT(monotonic_ns() - since, 5'000'000'000) << step;
        EXPECT_LT(service_ns(buf), 5'000 * ms) << step;
        EXPECT_LT(std::abs(now_ns() - monotonic_ns()), 100'000'000) << step;
    }
}

TEST_F(DeviceModel, SumsOfTheQueuesGrowByTheTrueTimeAcrossAStep) {
    if (!detail::hot_clock.counting)
        GTEST_SKIP() << "SKIPPED: the processor's counter is not the clock";
    serve(model("read=const:20ms"));
    hrtime_t last = 0;
    const hrtime_t since = monotonic_ns();
    for (const hrtime_t step : {0LL, -8'000'000'000LL, 8'000'000'000LL, -1'000'000'000LL}) {
        TestBuf buf = request(Buf::Op::read);
        step_counter(step);
        device_->strategy(buf);
        step_counter(-step);
        finish(buf);
        const hrtime_t sum = to_ns(device_->io().rlentime);
        EXPECT_GE(sum, last + 10'000'000) << step;
        EXPECT_LE(sum, monotonic_ns() - since + 1'000'000) << step;
        last = sum;
    }
}

TEST_F(DeviceModel, ABackingThatIsSlowerIsAnOverrun) {
    script(model("read=const:1us,servers=1"));
    TestBuf buf = request(Buf::Op::read);
    device_->strategy(buf);
    const hrtime_t until = now_ns() + 2'000'000;
    while (now_ns() < until) {
    }
    finish_first(4096);
    EXPECT_EQ(buf.done, 1);
    ring_->unlock();
    const auto counts = numbers("nbd", device_->name() + ",model");
    EXPECT_EQ(counts.at("overruns"), 1u);
    EXPECT_GE(counts.at("overrun_ns"), 2 * ms - 1000);
    EXPECT_EQ(counts.at("drawn"), 1u);
}

TEST_F(DeviceModel, IsPublishedAsLongAsThereIsOne) {
    serve({});
    const std::string name = device_->name() + ",model";
    EXPECT_TRUE(read_data("nbd", name).empty());
    device_->set_model(model_of("read=const:2ms,servers=3,seed=7"));
    auto counts = numbers("nbd", name);
    EXPECT_EQ(counts.at("seed"), 7u);
    EXPECT_EQ(counts.at("servers"), 3u);
    EXPECT_EQ(counts.at("drawn"), 0u);
    TestBuf buf = request(Buf::Op::read);
    run(buf);
    counts = numbers("nbd", name);
    EXPECT_EQ(counts.at("drawn"), 1u);
    EXPECT_LT(counts.at("late_ns"), late_ns_max);
    device_->set_model(std::nullopt);
    EXPECT_TRUE(read_data("nbd", name).empty());
}

TEST_F(DeviceModel, ARequestUnderWayKeepsItsModel) {
    serve(model("read=const:300ms"));
    TestBuf slow = request(Buf::Op::read);
    device_->strategy(slow);
    ring_->unlock();
    device_->set_model(std::nullopt);
    TestBuf fast = request(Buf::Op::read);
    run(fast);
    EXPECT_LT(stay_ns(fast), 300 * ms);
    finish(slow);
    EXPECT_GE(stay_ns(slow), 300 * ms);
}

TEST_F(DeviceModel, ServersFollowTheDepth) {
    serve(model("read=const:1ms"), 4);
    device_->set_queue_depth(9);
    EXPECT_EQ(device_->queue_depth(), 9u);
    EXPECT_EQ(numbers("nbd", device_->name() + ",model").at("servers"), 9u);
}

TEST_F(DeviceModel, ADepthThatIsRaisedStartsWhatWaits) {
    script({}, 1);
    TestBuf first = request(Buf::Op::read);
    TestBuf second = request(Buf::Op::read);
    device_->strategy(first);
    device_->strategy(second);
    settle();
    EXPECT_EQ(backing_->held.size(), 1u);
    device_->set_queue_depth(2);
    settle();
    EXPECT_EQ(backing_->held.size(), 2u);
    finish_first(4096);
    finish_first(4096);
}

TEST_F(DeviceModel, ADepthThatIsLoweredLetsWhatRunsEnd) {
    script({}, 2);
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (int i = 0; i < 3; ++i) {
        bufs.push_back(std::make_unique<TestBuf>(Buf::Op::read));
        device_->strategy(*bufs.back());
    }
    ring_->unlock();
    device_->set_queue_depth(1);
    finish_first(4096);
    EXPECT_EQ(backing_->held.size(), 1u);  // the second one; the third waits
    finish_first(4096);
    EXPECT_EQ(backing_->held.size(), 1u);
    finish_first(4096);
    EXPECT_EQ(bufs[2]->done, 1);
}

TEST_F(DeviceModel, ALimitIsWait) {
    serve(limits("iops=200"));
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (int i = 0; i < 6; ++i) {
        bufs.push_back(std::make_unique<TestBuf>(Buf::Op::read));
        bufs.back()->data = memory_.data();
        device_->strategy(*bufs.back());
    }
    finish(*bufs.back());
    // The bucket holds two, and gives a third on credit. One comes back every 5 ms.
    const auto all = static_cast<uint64_t>(to_ns(bufs.back()->started - bufs.front()->queued));
    EXPECT_GE(all, 3 * 5 * ms - ms / 2);
    EXPECT_LT(service_ns(*bufs.back()), late_ns_max);
    const auto counts = numbers("nbd", device_->name() + ",limits");
    EXPECT_EQ(counts.at("iops_rate"), 200u);
    // Tokens gather while the worker is late with a request, so no request lacks them in that time.
    const auto since_first_ns = [&](hrtime_t moment) {
        return static_cast<uint64_t>(to_ns(moment - bufs.front()->queued));
    };
    const auto late_ns = [&](size_t i, uint64_t due) {
        return std::max(since_first_ns(bufs[i]->started), due) - due;
    };
    EXPECT_GE(counts.at("iops_exceeded_ns") + late_ns(3, 5 * ms) + late_ns(4, 10 * ms) +
                  since_first_ns(bufs.back()->queued),
              3 * 5 * ms - ms / 2);
    EXPECT_EQ(counts.count("bps_rate"), 0u);
}

TEST_F(DeviceModel, AFlushThatWaitedForTokensHasItsTime) {
    Behaviour behaviour = model("flush=const:10ms");
    behaviour.limits = limits_of("write_iops=10");
    serve(std::move(behaviour));
    // Its end is planned from the moment of its tokens: a worker that wakes late has less of it left.
    const auto has_its_time = [&] {
        TestBuf flush = request(Buf::Op::flush);
        run(flush);
        return service_ns(flush) >= 10 * ms - ms / 10;
    };
    for (int i = 0; i < 3; ++i) {
        bool seen = false;
        for (int tries = 0; tries < 50 && !seen; ++tries) seen = has_its_time();
        EXPECT_TRUE(seen) << i;
    }
}

TEST_F(DeviceModel, TimeBeforeAChangeIsNoService) {
    Behaviour behaviour = model("read=const:10ms");
    behaviour.limits = limits_of("read_iops=1");
    serve(std::move(behaviour), 1);
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (int i = 0; i < 4; ++i) {
        bufs.push_back(std::make_unique<TestBuf>(request(Buf::Op::read)));
        device_->strategy(*bufs.back());
    }
    finish(*bufs[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    device_->set_queue_depth(4);
    const hrtime_t changed = now_unscaled();
    device_->set_limits(std::nullopt);
    for (const size_t i : {2U, 3U}) {
        finish(*bufs[i]);
        EXPECT_GE(static_cast<uint64_t>(to_ns(bufs[i]->finished - changed)) + rounding_ns, 10 * ms)
            << i;
    }
}

TEST_F(DeviceModel, TheServersOwnRequestIsExempt) {
    Behaviour behaviour = model("all=const:1000s");
    behaviour.limits = limits_of("iops=1");
    behaviour.faults.push_back(rule_of("flush:error=EIO"));
    behaviour.faults.push_back(rule_of("read:delay=const:1ms"));
    serve(std::move(behaviour));
    device_->set_model(std::nullopt);
    for (int i = 0; i < 2; ++i) {
        TestBuf read = request(Buf::Op::read);
        run(read);  // takes the tokens
    }
    device_->set_model(model_of("all=const:1000s"));
    TestBuf flush = request(Buf::Op::flush);
    flush.exempt = true;
    run(flush);
    EXPECT_EQ(flush.error, 0);
}

TEST_F(DeviceModel, NothingWaitsForTokensOfADeviceThatGoes) {
    Behaviour behaviour = limits("iops=1");
    behaviour.model = model_of("all=const:1ms");
    serve(std::move(behaviour));
    std::vector<std::unique_ptr<TestBuf>> bufs;
    for (int i = 0; i < 20; ++i) {
        bufs.push_back(std::make_unique<TestBuf>(request(Buf::Op::read)));
        device_->strategy(*bufs.back());
    }
    ring_->unlock();
    device_->retire();
    for (const auto& buf : bufs) finish(*buf);
    EXPECT_FALSE(device_->behaviour().model);
    EXPECT_FALSE(device_->behaviour().limits);
}

TEST_F(DeviceModel, LimitsThatAreRemovedStartWhatWaits) {
    serve(limits("iops=1"));
    TestBuf first = request(Buf::Op::read);
    TestBuf on_credit = request(Buf::Op::read);
    TestBuf waiting = request(Buf::Op::read);
    device_->strategy(first);
    device_->strategy(on_credit);
    device_->strategy(waiting);
    settle();
    EXPECT_EQ(first.done, 1);
    EXPECT_EQ(waiting.done, 0);
    device_->set_limits(std::nullopt);
    settle();
    EXPECT_EQ(waiting.done, 1);
    EXPECT_TRUE(read_data("nbd", device_->name() + ",limits").empty());
}

TEST_F(DeviceModel, SaysWhatHolds) {
    Behaviour behaviour = model("read=exp:1ms");
    behaviour.limits = limits_of("iops=100");
    behaviour.faults.push_back(rule_of("read:error=EIO"));
    behaviour.seed = 5;
    serve(std::move(behaviour));
    device_->set_limits(limits_of("bps=1000"));
    const Behaviour holds = device_->behaviour();
    EXPECT_EQ(holds.model->text(), model_of("read=exp:1ms").text());
    EXPECT_EQ(holds.limits, limits_of("bps=1000"));
    ASSERT_EQ(holds.faults.size(), 1u);
    EXPECT_EQ(holds.faults[0].text(), rule_of("read:error=EIO").text());
    EXPECT_EQ(holds.seed, 5u);
}

}  // namespace
}  // namespace blkscope
