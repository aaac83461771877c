// Timeline: virtual time and its events.
//
// Time jumps from one event to the next. Events of one moment happen in the order in which they
// were added. The hash covers all notes, in order: two runs with the same hash were the same run.
//
// Units:  nanoseconds from the start of the life; a tick of the simulated kernel is one.
// Errors: none.
#pragma once

#include <sys/kstat.h>

#include <cassert>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace blkscope::simulation {

class Timeline {
  public:
    using Action = std::function<void()>;

    [[nodiscard]] hrtime_t now() const { return now_; }

    void after(hrtime_t delay, Action action) {
        assert(delay >= 0);
        events_.push({now_ + delay, entered_++, std::move(action)});
    }

    /// Time passes within an event. Events that become due meanwhile happen late.
    void spend(hrtime_t ns) {
        assert(ns >= 0);
        now_ += ns;
    }

    /// Runs the next event. False: there is none.
    bool step() {
        if (events_.empty()) return false;
        Action action = std::move(const_cast<Event&>(events_.top()).action);
        if (events_.top().when > now_) now_ = events_.top().when;
        events_.pop();
        ++happened_;
        note(static_cast<uint64_t>(now_));
        action();
        return true;
    }

    /// Drops all events.
    void clear() { events_ = {}; }

    void note(uint64_t fact) { hash_ = (hash_ ^ fact) * 0x100000001b3; }

    [[nodiscard]] uint64_t hash() const { return hash_; }
    [[nodiscard]] uint64_t happened() const { return happened_; }

  private:
    struct Event {
        hrtime_t when;
        uint64_t order;
        Action action;
        bool operator<(const Event& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };

    std::priority_queue<Event> events_;
    hrtime_t now_ = 1'000'000;
    uint64_t entered_ = 0;
    uint64_t happened_ = 0;
    uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace blkscope::simulation
