// Plan: the decisions of a device with a model or faults about a request that has started.
//
//     hand_out() ─┬─▶ running ─▶ the backing has answered ─┬─ after the planned end ─▶ ended
//                 └─▶ hung ─▶ running ...                  └─▶ held ── planned end ──▶ ended
//
// Units:     nanoseconds of the kernel's clock; `until` in its ticks.
// Ownership: Pacing owns the plans. A plan borrows its buf until the buf's end.
// Threads:   the device's lock protects a plan.
// Errors:    none.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "blockdev/model/draws.hpp"
#include "blockdev/model/fault_rule.hpp"
#include "blockdev/model/servers.hpp"

namespace blkscope {

class Buf;

struct Plan {
    enum class Phase : uint8_t { running, hung, held };

    /// The effect of a rule; a copy, because the rule may be removed meanwhile. A delay is a part of
    /// the stay, and has no Fault.
    struct Fault {
        uint32_t rule = 0;
        model::FaultRule::Kind kind = model::FaultRule::Kind::error;
        bool counted = false;
        bool sticky = false;
        int error = 0;
        uint64_t corrupt_bytes = 0;
        std::optional<hrtime_t> hang_ns;  // of a hang; nothing: until the rule is removed
        uint64_t whole_bytes = 0;         // of a torn write, while its bcount is less
        model::Draws draws;
    };

    Phase phase = Phase::running;
    Buf* buf = nullptr;
    uint64_t number = 0;    // of all plans, in the order of starting
    uint32_t planner = 0;   // the number of the model that has planned the stay; 0 without a model
    model::Stay stay;       // the request ends at stay.end, if the backing has answered
    hrtime_t started = 0;   // when the backing got the request
    hrtime_t answered = 0;  // when the backing answered
    hrtime_t until = 0;     // the end of the current phase, if an alarm is set for it; else 0
    std::optional<Fault> fault;
};

}  // namespace blkscope
