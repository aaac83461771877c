// The run directory as a provider uses it.
#pragma once

#include "base/descriptor.hpp"

namespace blkscope::kstat {

/// The run directory, made (mode 0755) if it is not there. Throws std::system_error.
Descriptor open_run_directory();

}  // namespace blkscope::kstat
