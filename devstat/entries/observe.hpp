// A copy of a struct devstat that its writer may be changing.
//
// Threads: any. Source: devstat(9); sys/devicestat.h on sequence0 and sequence1.
#pragma once

#include <sys/devicestat.h>

#include "base/seqlock.hpp"

namespace blkscope::devstat {

/// Copies all fields that change from `live` to `out`, including the sequences. True: the sequences
/// are equal, so no update was under way at any moment of the copy.
inline bool observe_counters(const struct ::devstat& live, struct ::devstat& out) {
    const auto copy = [](bintime& to, const bintime& from) {
        to.sec = observe(from.sec);
        to.frac = observe(from.frac);
    };
    out.sequence0 = observe(live.sequence0);  // first, because writers increment it last
    out.start_count = observe(live.start_count);
    out.end_count = observe(live.end_count);
    copy(out.busy_from, live.busy_from);
    copy(out.busy_time, live.busy_time);
    for (int kind = 0; kind < DEVSTAT_N_TRANS_FLAGS; ++kind) {
        out.bytes[kind] = observe(live.bytes[kind]);
        out.operations[kind] = observe(live.operations[kind]);
        copy(out.duration[kind], live.duration[kind]);
    }
    for (int tag = 0; tag <= DEVSTAT_TAG_ORDERED; ++tag) {
        out.tag_types[tag] = observe(live.tag_types[tag]);
    }
    out.sequence1 = observe(live.sequence1);  // last, because writers increment it first
    return out.sequence0 == out.sequence1;
}

}  // namespace blkscope::devstat
