// A blob's parts one after another: what stats_blob_visit() and stats_blob_tostr() share.
#pragma once

#include "stats/layout.hpp"

namespace blkscope::stats {

/// Calls f(slot of the VOI, VOI, slot of the statistic, statistic) in the order of the slots. Ends
/// when f returns something else than 0. With `all`, also calls f for vacant slots; a vacant VOI
/// has one call, with no statistic.
template <class F>
void walk(Blob* blob, bool all, F f) {
    const VoiStat none = vacant_voistat;
    for (size_t i = 0; i < voi_count(*blob); ++i) {
        const Voi& voi = vois(blob)[i];
        if (voi.id < 0) {
            if (all && f(i, voi, 0, none) != 0) return;
            continue;
        }
        for (int stype = 0; stype <= voi.voistatmaxid; ++stype) {
            const VoiStat& vs = voistats(blob, voi)[stype];
            if ((all || vs.stype >= 0) && f(i, voi, stype, vs) != 0) return;
        }
    }
}

}  // namespace blkscope::stats
