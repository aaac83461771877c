// Disk size: what the kernel's disk lacks of an export. The kernel's nbd driver counts in sectors of 512 bytes, so the
// last bytes of an export may have no place on the disk. The last sectors may be less than a block: they are read
// and written through the page cache only, and no file system uses them.
//
//     export  |======== block ========|======== block ========|= sector =|= rest =|
//     disk    |======== block ========|======== block ========|= sector =|
//
// Units:     bytes.
// Threads:   any.
// Errors:    none.
// Source:    Linux 6.1 drivers/block/nbd.c, nbd_set_size(); nbd-client 3.24, setsizes(), which takes whole blocks. In the
//            test VM netlink with blocks of 4096 makes 2049 sectors of 1,049,088 bytes.
#pragma once

#include <cstdint>
#include <string>

#include "driver/attach/reconnect.hpp"

namespace blkscope {

/// In words, how the disk differs from its export; empty if all access reaches each byte of the export.
[[nodiscard]] std::string size_difference(uint64_t export_bytes, const DeviceTerms& disk);

}  // namespace blkscope
