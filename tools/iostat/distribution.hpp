// Tables of histograms. -w shows the times of each operation side by side. -L shows the latency of
// reads and writes by powers of two.
#pragma once

#include <string>

#include "tools/iostat/histograms.hpp"
#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// The table of -w for one device: the interval's requests by wait, service and total time. The
/// stages receive and reply are beside these. Each operation has a column, and percentiles are
/// below. A row is a fifth of a decade; with -r a
/// bucket. The columns are reads, writes and any other operation that `device` ever did. With -r
/// all operations have columns. No line is longer than 80 characters: stages that have no room beside
/// the others are in a table of their own below.
[[nodiscard]] std::string wait_table(const Device& device, const Histograms& interval,
                                     const Options& options);

/// The table of -L for one device: reads and writes by their total time. Each row has its share,
/// and the share of all rows up to and including it.
[[nodiscard]] std::string latency_table(const Device& device, const Histograms& interval,
                                        const Options& options);

/// The header of both tables with -r; empty without -r.
[[nodiscard]] std::string wait_table_header(const Options& options);
[[nodiscard]] std::string latency_table_header(const Options& options);

/// Whether these tables have no request in the interval.
[[nodiscard]] bool is_idle(const Histograms& interval);

}  // namespace blkscope::iostat
