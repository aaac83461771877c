// Numbers as a glance takes them in: three digits at most, and the unit.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>

namespace blkscope::top {

/// A latency in at most six characters: 850ns, 1.5us, 12us, 250ms, 2.5s; inf for the end of a
/// bucket that has none.
[[nodiscard]] std::string latency_text(uint64_t ns);

/// A size: 4096 B, 64 MiB, 1.5 TiB.
[[nodiscard]] std::string size_text(uint64_t bytes);

/// How long something has been there: 0:03:12, 4d 0:03:12.
[[nodiscard]] std::string uptime_text(hrtime_t ns);

/// How long ago something was, or how long it takes: 250ms, 5s, 1.5s, 2m, 2m30s, 1h05m.
[[nodiscard]] std::string span_text(hrtime_t ns);

}  // namespace blkscope::top
