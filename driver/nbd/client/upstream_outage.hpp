// UpstreamOutage: since when another server cannot be reached, and how long a request has waited for it.
//
// A device with more requests than its depth sends some only after others have failed. Their time in the
// device's queue counts too. Otherwise a long queue would fail one depth after the other, each after the
// whole timeout. Time before the first failed attempt does not count, because a limit also makes wait.
//
// Units:     the caller's.
// Ownership: none.
// Threads:   a single one.
// Errors:    none.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>

namespace blkscope::nbd {

class UpstreamOutage {
  public:
    /// An outage without an attempt for longer than `memory` counts as over.
    explicit UpstreamOutage(int64_t memory) : memory_(memory) { assert(memory > 0); }

    void attempt_failed(int64_t now) {
        if (!lasts(now)) since_ = now;
        latest_ = now;
    }
    void connected() { latest_.reset(); }

    /// Since when a request waits for the server that is given to it now.
    [[nodiscard]] int64_t waits_since(int64_t arrival, int64_t now) const {
        return lasts(now) ? std::max(arrival, since_) : now;
    }

  private:
    [[nodiscard]] bool lasts(int64_t now) const { return latest_ && now - *latest_ <= memory_; }

    const int64_t memory_;
    int64_t since_ = 0;
    std::optional<int64_t> latest_;  // the latest attempt that failed
};

}  // namespace blkscope::nbd
