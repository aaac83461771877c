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
    if (table) {
        problem_.clear();
        return std::move(*table);
    }
    if (table.error() != problem_) {
        std::fprintf(stderr,
                     "blkscope: %s: partition table ignored: %s; check it with sfdisk --verify\n",
                     subject_.name.c_str(), table.error().c_str());
    }
    problem_ = table.error();
    return {};
}

}  // namespace blkscope
