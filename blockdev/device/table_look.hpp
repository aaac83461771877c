// TableLook: the partition table of a backing at one moment, or that it could not be read.
//
// Units:     bytes.
// Ownership: borrows the backing for the call.
// Threads:   as for Backing::read_now(). A thread that has opened a backing may look before a device
//            has it. So a disk on another machine, which may answer late, holds up no worker.
// Errors:    TableLook.
#pragma once

#include "blockdev/backing/backing.hpp"
#include "blockdev/device/partition_table.hpp"

namespace blkscope {

struct TableLook {
    bool readable = true;
    PartitionTable table;  // without a meaning if it was not readable
};

/// Reads the table, at once.
[[nodiscard]] TableLook look_at_table(Backing& backing);

}  // namespace blkscope
