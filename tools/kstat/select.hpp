// The selection of kstats, and their order in a report.
#pragma once

#include <sys/kstat.h>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// Whether a report can show the kstat. The framework's own kstats (kstat_headers, kstat_types) are
/// never shown. A RAW kstat is shown only if its structure is known.
[[nodiscard]] bool is_shown(const kstat_t& ksp);

/// Whether the selector asks for the kstat, whatever its statistics.
[[nodiscard]] bool selects(const Selector& selector, const Reading& kstat);

/// Whether the options ask for the kstat, by its class and by at least one selector.
[[nodiscard]] bool wanted(const Reading& kstat, const Options& options);

/// The order of a report: by module, instance (as a number) and name, without regard to case.
[[nodiscard]] bool shown_before(const Reading& one, const Reading& other);

}  // namespace blkscope::kstat_command
