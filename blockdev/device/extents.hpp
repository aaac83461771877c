// Extents of a request: block status, and reads that find nothing but zeroes.
//
// Units:   bytes; the time is the kernel's.
// Threads: the worker of the buf's lane, without the device's lock: a look-up is a system call.
// Errors:  none; a backing that cannot tell has data everywhere.
#pragma once

#include <cstdint>
#include <optional>

#include "blockdev/backing/backing.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

/// Lists a share of what a block status asks for. The operation's result; nothing if the rest of the
/// list comes in the next turn of the ring.
std::optional<int32_t> list_extents(Buf& buf, Backing& backing, Ring& ring);

/// Finds out what of a read is holes, if its caller can pass that on. True if all of it is: there is
/// nothing to read then. A read with more extents than its list holds is read whole from there on.
bool reads_only_holes(Buf& buf, Backing& backing, Ring& ring);

}  // namespace blkscope
