// The file behind a loop device, for the locks of other programs on it.
//
// Ownership: the caller owns the descriptor.
// Threads:   any.
// Errors:    none. A file that is deleted, or that this process may not open, is not found.
// Source:    loop(4) LOOP_GET_STATUS64; sysfs: block/loop*/loop/backing_file.
#pragma once

#include "base/descriptor.hpp"

namespace blkscope {

struct LoopFile {
    Descriptor file = Descriptor();  // open to write, if that is allowed
    bool whole = false;              // the device has all bytes of the file
};

/// The regular file of the loop device, or of the partition of one, that is open as `device`. Not
/// open for any other file.
LoopFile open_loop_file(int device);

}  // namespace blkscope
