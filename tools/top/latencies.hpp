// A device's latencies, taken from its histograms as iostat reads them.
#pragma once

#include "tools/iostat/histograms.hpp"
#include "tools/top/look.hpp"

namespace blkscope::top {

/// What the histograms of waiting and of service count. Without bounds if there are none that can
/// be drawn: both of nanoseconds, in the same steps, with an end.
///
/// `known` is what the last ones had for bounds, to be shared; it becomes those of these.
[[nodiscard]] Latencies latencies_of(const iostat::Histograms& histograms, Bounds& known);

}  // namespace blkscope::top
