// The latencies of a device, from the histograms that iostat reads.
#pragma once

#include "tools/iostat/histograms.hpp"
#include "tools/top/look.hpp"

namespace blkscope::top {

/// The counts of the histograms of waiting and of service. Without bounds if these histograms
/// cannot be drawn: both must have nanoseconds, the same buckets, and an end. The stages on the
/// connection are added if their histograms are alike.
///
/// `known` has the bounds of the last call, so that equal bounds are shared. The call sets `known`
/// to the new bounds.
[[nodiscard]] Latencies latencies_of(const iostat::Histograms& histograms, Bounds& known);

}  // namespace blkscope::top
