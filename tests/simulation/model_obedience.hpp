// Model obedience: whether requests took the times of the model in force, and fault rules struck the requests that
// they concern, as often as they say.
//
//     model    what a request drew is what the model in force at its start draws, and the delay of a rule at most.
//              It is served for that long, and no longer. All servers together serve no more than their time.
//     rules    a rule strikes only requests that it concerns, while it is there. The count of its hits follows from
//              the count of the requests that reached it.
//
// Errors of rules and their delays are of one rule each, so a request says by which rule it was struck. A rule that
// lets requests hang leaves no mark: see GovernedLife for these.
//
// Units:  nanoseconds; sectors of 512 bytes.
// Errors: the text of the first request or rule that is wrong; empty if there is none.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "obedience.hpp"
#include "trace/request.hpp"

namespace blkscope::simulation {

/// A model whose draws are within bounds.
struct KnownModel {
    struct Span {
        hrtime_t least = 0;
        hrtime_t most = 0;  // 0: the operation takes no time
    };

    const char* text = "";
    std::array<Span, static_cast<size_t>(trace::last_op) + 1> of{};
    hrtime_t per_byte = 0;
    uint32_t servers = 0;  // 0: as many as the depth

    [[nodiscard]] bool has(trace::Op op) const { return of[static_cast<size_t>(op)].most > 0; }
    /// What a request draws. One of the flushes that are gathered draws for all.
    [[nodiscard]] Span draws(const trace::Request& request) const;
};

/// The most that a model draws. The delays of rules are further apart from each other, and longer.
inline constexpr hrtime_t draw_ns_max = 2'000'000;

struct KnownRule {
    enum class Kind : uint8_t { error, delay, hang };

    std::optional<trace::Op> op;  // nothing: all
    Kind kind = Kind::error;
    int error = 0;
    hrtime_t ns = 0;  // of a delay; of a request that hangs: 0 is until the rule is removed
    std::optional<std::pair<uint64_t, uint64_t>> sectors;  // the first and the last
    uint64_t chance = 1;
    uint64_t after = 0;
    uint64_t every = 1;
    uint64_t count = std::numeric_limits<uint64_t>::max();
    hrtime_t lasts = 0;  // 0: for ever

    uint32_t id = 0;
    hrtime_t added = 0;
    hrtime_t removed = std::numeric_limits<hrtime_t>::max();
    uint64_t hits = 0;   // as the device has counted them
    uint64_t ended = 0;  // of the hits: hung until their client ended

    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool concerns(const trace::Request& request) const;
};

/// What a device was told while it served, and what its requests did.
struct Chronicle {
    std::vector<Setting> settings;         // by their time
    std::vector<KnownRule> rules;          // in the order in which they were added
    std::vector<trace::Request> requests;  // in any order
    uint64_t unwanted = 0;  // of them: served, but their client had gone; these never hang

    /// Requests of a depth that was lowered may still run.
    [[nodiscard]] uint32_t depth_max() const;
};

/// By how much times may differ from those of the models.
struct Graces {
    hrtime_t wake_ns = 0;         // a worker's turn, its messages to others, and its timers
    bool storage_is_fast = true;  // it takes no longer than that
};

std::string check_models(const Chronicle& chronicle, const Graces& graces);
std::string check_rules(const Chronicle& chronicle);

}  // namespace blkscope::simulation
