#include "driver/attach/disk_size.hpp"

#include <fmt/format.h>

#include <cassert>

namespace blkscope {

std::string size_difference(uint64_t export_bytes, const DeviceTerms& disk) {
    assert(disk.block_bytes > 0);
    std::string difference;
    if (disk.size_bytes < export_bytes) {
        difference = fmt::format(
            "the disk ends after {} of the export's {} bytes: the kernel uses whole sectors, "
            "and not the last {} bytes",
            disk.size_bytes, export_bytes, export_bytes - disk.size_bytes);
    } else if (disk.size_bytes > export_bytes) {
        difference =
            fmt::format("the export has {} bytes and the disk {}: the last {} are not there",
                        export_bytes, disk.size_bytes, disk.size_bytes - export_bytes);
    }
    const uint64_t rest = disk.size_bytes % disk.block_bytes;
    if (rest == 0) return difference;
    return difference + (difference.empty() ? "" : "; ") +
           fmt::format(
               "the disk's last {} bytes are not a whole block of {}, and direct access does not "
               "reach them",
               rest, disk.block_bytes);
}

}  // namespace blkscope
