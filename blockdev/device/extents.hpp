// Extents of a request: block status, and reads of ranges that are one hole.
//
// Units:     bytes; the time is the kernel's.
// Ownership: borrows the buf for the call; its list of extents has memory of the caller's.
// Threads:   the worker of the buf's lane, with the device unlocked: a look-up is a system call.
// Errors:    none; a backing without information reports data everywhere.
#pragma once

#include <cstdint>
#include <optional>

#include "blockdev/backing/backing.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

/// Lists the extents of a block status, or a share of them. Returns the operation's result; nothing
/// if the next turn of the ring lists the rest.
std::optional<int32_t> list_extents(Buf& buf, Backing& backing, Ring& ring);

/// Lists the holes of a read, if its caller gave memory for them. True if the whole range is a
/// hole, so that nothing needs to be read. If the list is too short, its last extent is data up to
/// the end.
bool reads_only_holes(Buf& buf, Backing& backing, Ring& ring);

}  // namespace blkscope
