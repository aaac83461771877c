// Tables of how requests are spread: -w, the times of each operation side by side, and -L, the
// latency of reads and writes by powers of two.
#pragma once

#include <string>

#include "tools/iostat/histograms.hpp"
#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// The table of -w for one device: what came in the interval by wait, service and total time, a
/// column for each operation, and percentiles below. A row is a fifth of a decade; with -r a
/// bucket. Columns are those of reads, writes and any other operation that `device` ever did; with
/// -r all of them.
[[nodiscard]] std::string wait_table(const Device& device, const Histograms& interval,
                                     const Options& options);

/// The table of -L for one device: reads and writes by their total time, with the share of each row
/// and of all rows up to it.
[[nodiscard]] std::string latency_table(const Device& device, const Histograms& interval,
                                        const Options& options);

/// The header of both with -r; empty without.
[[nodiscard]] std::string wait_table_header(const Options& options);
[[nodiscard]] std::string latency_table_header(const Options& options);

/// Whether nothing that these tables show came in the interval.
[[nodiscard]] bool is_idle(const Histograms& interval);

}  // namespace blkscope::iostat
