// ModelState: where the model of a device was, so that a prediction goes on from there.
//
//     a device ─▶ state ─▶ settle() ─▶ header of a trace file ─▶ state_of() ─▶ a device in virtual time
//
//     seed=7  state_ns=81234567890  drawn_read=1044  drawn_write=96  tokens_iops=-3  head=1052672
//
// A server gives its state of the moment at which it was asked. settle() computes the state before
// the first request of the trace. The draws of earlier requests are subtracted. A level of tokens
// and the place of a head cannot be computed backwards. Both are left out if requests of the trace
// had ended by then. A file without a state is of an earlier version, and stays readable.
//
// Units:     requests, tokens, bytes; nanoseconds of CLOCK_MONOTONIC.
// Ownership: values.
// Threads:   any.
// Errors:    state_of() returns one line about the first number that is none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "trace/request.hpp"

namespace blkscope::trace {

inline constexpr size_t op_count = static_cast<size_t>(last_op) + 1;

struct ModelState {
    int64_t at = 0;                              // the moment; 0: there is no state
    std::optional<uint64_t> seed = {};           // of the draws
    std::array<uint64_t, op_count> drawn{};      // draws so far, by Op
    std::map<std::string, int64_t> tokens = {};  // of each bucket; negative for a debt
    std::optional<uint64_t> head = {};  // of a disk with one: the byte behind the last request

    bool operator==(const ModelState&) const = default;
};

using Properties = std::map<std::string, std::string>;

/// Sets the properties of the state, and removes those of an earlier one.
void put_state(const ModelState& state, Properties& properties);
/// The state among the properties; its moment is 0 if there is none.
[[nodiscard]] Result<ModelState, std::string> state_of(const Properties& properties);

/// Makes the state in the properties that before the first request. Leaves malformed ones alone.
void settle(Trace& trace);
/// Removes the first `count` requests of a settled trace, and advances the state by these.
void drop_first(Trace& trace, size_t count);

}  // namespace blkscope::trace
