// The formats of disk images, other than raw bytes. blkscope serves the bytes of an image, and not
// the disk in it.
//
// Threads: any.
// Errors:  none. A file that cannot be read has no known format.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace blkscope {

/// This many bytes at the start of an image have the signature of its format.
inline constexpr size_t image_head_bytes = 68;

/// The name that qemu gives to the format, as "qcow2". Empty for raw bytes.
///
/// Source: qemu's block/qcow2.h, qed.h, vmdk.c, vhdx.h, vpc.c, vdi.c, parallels.c.
[[nodiscard]] std::string_view image_format(std::span<const char> head);

/// The format of the file or disk at `path`.
[[nodiscard]] std::string_view image_format_of(const std::string& path);

}  // namespace blkscope
