#include "blockdev/device/table_watch.hpp"

#include <cstdio>
#include <span>
#include <utility>

namespace blkscope {

std::optional<std::vector<Partition>> TableWatch::read(Backing& backing) {
    bool readable = true;
    PartitionTable table = read_partition_table(
        subject_.size_bytes, subject_.block_bytes, [&](uint64_t offset, std::span<std::byte> to) {
            readable = readable && backing.read_now(offset, to);
            return readable;
        });
    touched_ = !readable;
    if (!readable) {
        tell("its sectors cannot be read now; the partitions stay as they were");
        return std::nullopt;
    }
    if (table) {
        problem_.clear();
        return std::move(*table);
    }
    tell(table.error() + "; check it with sfdisk --verify");
    return std::vector<Partition>();
}

void TableWatch::tell(const std::string& problem) {
    if (problem != problem_) {
        std::fprintf(stderr, "blkscope: %s: partition table ignored: %s\n", subject_.name.c_str(),
                     problem.c_str());
    }
    problem_ = problem;
}

}  // namespace blkscope
