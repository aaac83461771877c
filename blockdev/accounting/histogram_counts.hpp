// HistogramCounts: a device's histograms, fed at the end of each request, and their kstats.
//
// Threads: a worker, under the device's lock and inside its sequence lock; see the two parts.
#pragma once

#include <optional>

#include "blockdev/accounting/histogram_kstats.hpp"
#include "blockdev/accounting/request_histograms.hpp"
#include "blockdev/accounting/subject.hpp"

namespace blkscope {

class HistogramCounts {
  public:
    HistogramCounts(const kstat::Seqlock& seq, const Subject& subject) : histograms_(seq) {
        if (subject.published()) kstats_.emplace(histograms_, subject.name, subject.instance);
    }

    void ended(const Buf& buf) { histograms_.count(buf); }

    [[nodiscard]] RequestHistograms& histograms() { return histograms_; }

  private:
    RequestHistograms histograms_;
    std::optional<HistogramKstats> kstats_;  // last: gone before what its readers read
};

}  // namespace blkscope
