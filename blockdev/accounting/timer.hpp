// Timer: how often something happened and how long it took, for a TIMER kstat.
//
// Units:     ticks of gethrtime_unscaled(); in_nanoseconds() scales them for a snapshot.
// Ownership: none.
// Threads:   one writer, inside a write of a sequence lock, through which readers observe.
// Errors:    none.
// Source:    kstat_timer(9S).
#pragma once

#include <sys/kstat.h>

#include <cassert>

#include "base/clock.hpp"
#include "base/seqlock.hpp"

namespace blkscope {

struct Timer {
    u_longlong_t events = 0;
    hrtime_t elapsed = 0;
    hrtime_t shortest = 0;
    hrtime_t longest = 0;
    hrtime_t started = 0;  // the last event
    hrtime_t stopped = 0;

    void event(hrtime_t from, hrtime_t to) {
        assert(from <= to);
        const hrtime_t took = to - from;
        if (took < shortest || events == 0) publish(shortest, took);
        if (took > longest) publish(longest, took);
        assert(shortest <= longest);
        publish(elapsed, elapsed + took);
        publish(started, from);
        publish(stopped, to);
        publish(events, events + 1);
    }

    /// A copy of the counters, for use inside Seqlock::read.
    [[nodiscard]] Timer observed() const {
        return {observe(events),  observe(elapsed), observe(shortest),
                observe(longest), observe(started), observe(stopped)};
    }

    /// Fills in a record except its name.
    void in_nanoseconds(kstat_timer_t& record) const {
        record.num_events = events;
        record.elapsed_time = to_ns(elapsed);
        record.min_time = to_ns(shortest);
        record.max_time = to_ns(longest);
        record.start_time = to_ns(started);
        record.stop_time = to_ns(stopped);
    }
};

}  // namespace blkscope
