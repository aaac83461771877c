// Reads the settings of a device from its kstats, for `top` and `list`.
#pragma once

#include <blkscope/geometry.h>
#include <kstat.h>

#include <functional>
#include <optional>

#include "tools/top/settings.hpp"

namespace blkscope::top {

/// The settings of a device. `read` returns the kstat of the device with that part behind the comma of
/// its name. Null if it cannot be read, because a kstat may be removed at any time.
[[nodiscard]] Settings read_settings(const std::function<kstat_t*(const char* what)>& read);

/// The texts of a kstat NAME,export that was read. A text that it lacks is "-".
[[nodiscard]] Source source_of(kstat_t* exp);

/// The data of a kstat NAME,geometry that was read. Nothing if `ksp` is null or has other data.
[[nodiscard]] std::optional<blkscope_geometry_t> geometry_of(const kstat_t* ksp);

}  // namespace blkscope::top
