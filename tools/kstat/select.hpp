// Which kstats are looked at, and in what order they are shown.
#pragma once

#include <sys/kstat.h>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// Whether there is anything to show of a kstat: not of the framework's own (kstat_headers,
/// kstat_types), and of a RAW one only if its structure is known.
[[nodiscard]] bool is_shown(const kstat_t& ksp);

/// Whether the kstat is one that the selector asks for, whatever its statistics.
[[nodiscard]] bool selects(const Selector& selector, const Reading& kstat);

/// Whether the options ask for the kstat: its class, and any of the selectors.
[[nodiscard]] bool wanted(const Reading& kstat, const Options& options);

/// By module, instance (as a number) and name.
[[nodiscard]] bool shown_before(const Reading& one, const Reading& other);

}  // namespace blkscope::kstat_command
