// Places: when a place in the depth of a device became free, by plan.
//
//     depth 2   place   ██ 1 ██ 3 ████         3 might have started when 1 ended
//               place   ████ 2 ███ 4 ██
//
// A request that waited for a place might have started at the planned end of the request before it.
// The program may have noticed that end later. Places are taken in the order in which they became
// free. Requests from before the model have places, too, until they end. A flush takes over the place of the
// flush before it, even if more requests run than a lowered depth allows.
//
// Units:     the ticks of the caller's clock.
// Ownership: a value. Threads: one at a time.
// Errors:    none.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "base/clock.hpp"

namespace blkscope::model {

class Places {
  public:
    static constexpr hrtime_t always = std::numeric_limits<hrtime_t>::min();

    explicit Places(uint32_t depth) { resize(depth); }

    /// So many requests run that are from before the model; more than the depth if that was lowered.
    void occupy(uint32_t count) {
        assert(taken_ == 0 && others_ == 0);
        others_ = count;
        while (places() > depth_ && !free_.empty()) free_.pop();
    }
    /// It is known since when the next place has been free.
    [[nodiscard]] bool knows_next() const { return !free_.empty(); }
    /// Takes a place. Returns the moment since which it has been free, if that is known.
    hrtime_t take() {
        ++taken_;
        if (free_.empty()) return always;
        const hrtime_t since = free_.top();
        free_.pop();
        return since;
    }
    /// A request ended at `end`, by plan.
    void give(hrtime_t end) {
        assert(taken_ > 0);
        --taken_;
        if (places() < depth_) free_.push(end);
    }
    /// A request from before the model ended.
    void give_other(hrtime_t end) {
        if (others_ == 0) return;  // one that only seems to be: it began in the moment of the model
        --others_;
        if (places() < depth_) free_.push(end);
    }
    /// With less depth, places that are taken end when their requests do.
    void resize(uint32_t depth) {
        assert(depth > 0);
        depth_ = depth;
        while (places() < depth_) free_.push(always);
        while (places() > depth_ && !free_.empty()) free_.pop();
    }

  private:
    [[nodiscard]] size_t places() const { return taken_ + others_ + free_.size(); }

    uint32_t depth_ = 0;
    uint32_t taken_ = 0;
    uint32_t others_ = 0;
    std::priority_queue<hrtime_t, std::vector<hrtime_t>, std::greater<>> free_;
};

}  // namespace blkscope::model
