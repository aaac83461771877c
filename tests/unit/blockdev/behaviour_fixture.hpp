// BehaviourTest: a device with a model, limits or faults, on a real ring.
#pragma once

#include <map>
#include <utility>

#include "base/clock.hpp"
#include "blockdev/backing/memory_backing.hpp"
#include "device_fixture.hpp"

namespace blkscope {

class BehaviourTest : public DeviceTest {
  protected:
    static constexpr uint64_t ms = 1'000'000;

    /// A device over memory.
    void serve(Behaviour behaviour, uint32_t depth = 8) {
        give(std::make_unique<MemoryBacking>(device_bytes),
             DeviceOptions{.queue_depth = depth, .behaviour = std::move(behaviour)});
    }
    /// A device over a scripted backing.
    void script(Behaviour behaviour, uint32_t depth = 8) {
        auto backing = std::make_unique<ScriptedBacking>(device_bytes);
        backing_ = backing.get();
        give(std::move(backing),
             DeviceOptions{.queue_depth = depth, .behaviour = std::move(behaviour)});
    }

    static model::ModelSpec model_of(const std::string& text) {
        return model::ModelSpec::parse(text, {});
    }
    static model::LimitSpec limits_of(const std::string& text) {
        return model::LimitSpec::parse(text);
    }
    static model::FaultRule rule_of(const std::string& text) {
        return model::FaultRule::parse(text, device_bytes, {});
    }
    static Behaviour faulty(const std::string& rule) {
        Behaviour behaviour;
        behaviour.faults.push_back(rule_of(rule));
        return behaviour;
    }

    /// Runs the ring until the request is done, for some seconds at most.
    void finish(const TestBuf& buf) {
        constexpr hrtime_t patience_ns = 10'000'000'000;
        const hrtime_t end = now_ns() + patience_ns;
        while (buf.done == 0 && now_ns() < end) {
            ring_->wait();
            ring_->dispatch();
        }
        ring_->unlock();
        ASSERT_EQ(buf.done, 1);
    }
    /// Sends the request and runs the ring until it is done.
    void run(TestBuf& buf) {
        device_->strategy(buf);
        finish(buf);
    }
    /// Runs the ring for a moment: nothing that waits for time ends.
    void settle() {
        for (int i = 0; i < 3; ++i) {
            ring_->wait(false);
            ring_->dispatch();
        }
        ring_->unlock();
    }

    static constexpr uint64_t rounding_ns = 100;

    /// From the arrival of one request to the end of another one. A model plans the end from the
    /// arrival. So a thread that is late between arrival and start does not shorten this time.
    static uint64_t stay_ns(const Buf& arrived, const Buf& ended) {
        return static_cast<uint64_t>(to_ns(ended.finished - arrived.queued)) + rounding_ns;
    }
    static uint64_t stay_ns(const Buf& buf) { return stay_ns(buf, buf); }
    static uint64_t service_ns(const Buf& buf) {
        return static_cast<uint64_t>(to_ns(buf.finished - buf.started));
    }
    static uint64_t wait_ns(const Buf& buf) {
        return static_cast<uint64_t>(to_ns(buf.started - buf.queued));
    }

    /// The numbers of a NAMED kstat by name, without its strings; empty if there is no such kstat.
    static std::map<std::string, uint64_t> numbers(const char* module, const std::string& name) {
        std::map<std::string, uint64_t> all;
        const auto data = read_data(module, name);
        for (size_t at = 0; at + sizeof(kstat_named_t) <= data.size();
             at += sizeof(kstat_named_t)) {
            kstat_named_t record{};
            std::memcpy(&record, data.data() + at, sizeof record);
            if (record.data_type == KSTAT_DATA_UINT32) {
                all[record.name] = record.value.ui32;
            } else if (record.data_type != KSTAT_DATA_STRING) {
                all[record.name] = record.value.ui64;
            }
        }
        return all;
    }
};

}  // namespace blkscope
