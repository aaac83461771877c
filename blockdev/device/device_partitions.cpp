// A device's partitions: which request belongs to one, and when the table is read.

#include <cstdio>

#include "blockdev/device/device.hpp"

namespace blkscope {

// A write that may have changed the table: it touched the first sectors, or what lies between the
// partitions, where the rest of a table is.
bool Device::touches_table(const Buf& buf) const {
    if (buf.op != Buf::Op::write && !buf.discards()) return false;
    return buf.offset < table_start_bytes || (buf.partition == nullptr && !partitions_.empty());
}

// Whoever writes a table syncs it when it is whole, so a flush is the moment to look; the last
// client's leaving is for those that do not.
void Device::table_may_have_changed() {
    if (!table_touched_) return;
    table_touched_ = false;
    read_table();
}

void Device::read_table() {
    PartitionTable table = read_partition_table(
        size_bytes_, block_bytes_, [this](uint64_t offset, std::span<std::byte> to) {
            return first_lane_.backing_->read_now(offset, to);
        });
    if (!table.problem.empty() && table.problem != table_problem_) {
        std::fprintf(stderr,
                     "blkscope: %s: partition table ignored: %s; look at it with sfdisk --verify\n",
                     name_.c_str(), table.problem.c_str());
    }
    table_problem_ = std::move(table.problem);
    partitions_.replace(table.partitions);
}

}  // namespace blkscope
