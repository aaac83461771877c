// The run directory, for a provider.
#pragma once

#include "base/descriptor.hpp"

namespace blkscope::kstat {

/// Opens the run directory, and creates it (mode 0755) if it is missing. Throws std::system_error.
Descriptor open_run_directory();

}  // namespace blkscope::kstat
