// HistogramCounts: a device's histograms, updated at the end of each request and of its reply, and
// their kstats.
//
// Ownership: owns both.
// Threads:   a worker, with the device locked and inside its sequence lock; see the two parts.
// Errors:    the constructor throws std::bad_alloc.
#pragma once

#include <optional>

#include "blockdev/accounting/histogram_kstats.hpp"
#include "blockdev/accounting/request_histograms.hpp"
#include "blockdev/accounting/subject.hpp"

namespace blkscope {

class HistogramCounts {
  public:
    HistogramCounts(const Seqlock& seq, const Subject& subject)
        : histograms_(seq, subject.ticks_are_ns ? TickScale::of_ns() : TickScale()) {
        if (subject.published()) kstats_.emplace(histograms_, subject.name, subject.instance);
    }

    void ended(const Buf& buf) { histograms_.count(buf); }
    void replied(const Buf& buf) { histograms_.count_reply(buf); }

    [[nodiscard]] RequestHistograms& histograms() { return histograms_; }

  private:
    RequestHistograms histograms_;
    std::optional<HistogramKstats> kstats_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
