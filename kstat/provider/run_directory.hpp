// The run directory, for a provider.
#pragma once

#include "base/descriptor.hpp"

namespace blkscope::kstat {

/// Opens the run directory, and creates it (mode 0755) if it is missing. Throws std::system_error.
///
/// If root creates /run/kstat and there is a group blkscope, the directory is for that group: its
/// mode is 3775. Members can then create files, and only a file's owner can remove it.
Descriptor open_run_directory();

}  // namespace blkscope::kstat
