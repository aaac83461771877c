#include "blockdev/device/table_look.hpp"

#include <span>

namespace blkscope {

TableLook look_at_table(Backing& backing) {
    bool readable = true;
    PartitionTable table = read_partition_table(
        backing.size_bytes(), backing.block_bytes(), [&](uint64_t offset, std::span<std::byte> to) {
            readable = readable && backing.read_now(offset, to);
            return readable;
        });
    backing.looked();
    return {.readable = readable, .table = std::move(table)};
}

}  // namespace blkscope
