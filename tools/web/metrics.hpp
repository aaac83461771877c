// A look as Prometheus scrapes it. blkscope-web(1) lists the families.
//
// Counters are as they were read, so two scrapes subtract exactly. Times are in seconds with nine
// decimals. Each histogram has fixed edges: 1, 2 and 5 times 10^k, from 1 us to 10 s. These values
// are edges of our buckets, too.
//
// Of each disk, the busiest clients have series of their own, and the rest is summed as "other".
//
// Most of the text is histograms. Of 100 devices it has 2 MB, and 1,000 devices have 20 MB.
//
// Ownership: nothing is kept. Threads: any. Errors: none.
#pragma once

#include <functional>
#include <string>

#include "tools/web/exposition.hpp"
#include "tools/web/look.hpp"

namespace blkscope::web {

/// Clients of a disk with series of their own.
inline constexpr size_t clients_shown_max = 50;

/// Whether to show a device, partition or client.
using Shown = std::function<bool(const DeviceLook& look)>;

struct MetricsOptions {
    TextFormat format = TextFormat::prometheus;
    bool clients_named = true;  // whether the programs and peers of clients are told
    Shown shows = {};           // none: all are shown
};

[[nodiscard]] std::string metrics_text(const Look& look, const MetricsOptions& options);

}  // namespace blkscope::web
