// Loading of the module that has librbd.
//
// The module stays loaded until the process ends, also if an upgrade replaces its file meanwhile.
//
// Threads: one at a time.
// Errors:  std::runtime_error: the module is absent, cannot be loaded or is of another build.
#pragma once

#include <string>

#include "rbd/table.h"

namespace blkscope::rbd {

/// The module's table. The module is loaded at the first call.
const blkscope_rbd_table& load();

/// The table of the module at `path`.
const blkscope_rbd_table& load_from(const std::string& path);

}  // namespace blkscope::rbd
