// Numbers that are short to read: at most three digits, and the unit.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>

namespace blkscope::top {

/// A latency in at most six characters: 850ns, 1.5us, 12us, 250ms, 2.5s. For the upper end of the
/// last bucket, inf.
[[nodiscard]] std::string latency_text(uint64_t ns);

/// A size: 4096 B, 64 MiB, 1.5 TiB.
[[nodiscard]] std::string size_text(uint64_t bytes);

/// The time since a creation: 0:03:12, 4d 0:03:12.
[[nodiscard]] std::string uptime_text(hrtime_t ns);

/// An age or a duration: 250ms, 5s, 1.5s, 2m, 2m30s, 1h05m.
[[nodiscard]] std::string span_text(hrtime_t ns);

}  // namespace blkscope::top
