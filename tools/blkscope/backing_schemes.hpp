// Backing schemes: the table of the schemes of all rooms, for the backings of exports.
//
// Ownership: the table is static, and stays until the process has ended.
// Threads:   any.
// Errors:    none.
#pragma once

#include "blockdev/backing/backing.hpp"

namespace blkscope {

[[nodiscard]] BackingSchemes backing_schemes();

}  // namespace blkscope
