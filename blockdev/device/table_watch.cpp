#include "blockdev/device/table_watch.hpp"

#include <cstdio>
#include <span>
#include <utility>

namespace blkscope {

std::vector<Partition> TableWatch::read(Backing& backing) {
    touched_ = false;
    PartitionTable table = read_partition_table(
        subject_.size_bytes, subject_.block_bytes,
        [&](uint64_t offset, std::span<std::byte> to) { return backing.read_now(offset, to); });
    if (!table.problem.empty() && table.problem != problem_) {
        std::fprintf(stderr,
                     "blkscope: %s: partition table ignored: %s; check it with sfdisk --verify\n",
                     subject_.name.c_str(), table.problem.c_str());
    }
    problem_ = std::move(table.problem);
    return std::move(table.partitions);
}

}  // namespace blkscope
