// ImageClaim: this process' claim on a disk or image file. Of two servers on one image, one writes.
//
// The claim consists of the locks that qemu puts on its images, so both programs see each other.
// Each byte is a yes or a no, held by a shared lock of the open file description:
//
//     byte   100: reads   101: writes   103: may resize             what the holder does
//     byte   200: no reading   201: no writing   203: no resizing   what others must not do
//
// A writing server holds 100, 101, 201 and 203, and is refused where others hold 101, 103, 200 or
// 201. A reading server holds 100, and is refused where others hold 200. Bytes cannot show a mount,
// or a lock of another kind. So a writing server opens a block device with O_EXCL, which the kernel
// refuses for a mounted one. For a regular file it takes an exclusive flock(2), and looks for a
// loop device that writes to the file.
//
// All exports of one process share one claim. One server may serve an image twice. A reload may
// open the new export before the old one has ended.
//
// Ownership: the claim lasts as long as the object. The kernel ends it with the process.
// Threads:   any.
// Errors:    claim_image() throws std::runtime_error for an image that others use, and
//            std::system_error. Where a file system has no locks, none are taken or found.
// Source:    fcntl(2) F_OFD_SETLK, flock(2), open(2) O_EXCL; qemu's raw_apply_lock_bytes() and
//            BLK_PERM_*, seen with qemu-nbd 7.2 in /proc/locks.
#pragma once

#include <memory>
#include <string>

namespace blkscope {

enum class ImageUse {
    read,          // beside all programs that let others read
    write,         // beside readers only
    read_shared,   // beside any program: the user insists
    write_shared,  // the same, and writes
};

class ImageClaim {
  public:
    ImageClaim() = default;
    virtual ~ImageClaim() = default;
    ImageClaim(const ImageClaim&) = delete;
    ImageClaim& operator=(const ImageClaim&) = delete;
};

/// Claims the image that is open as `descriptor`; errors call it `name`. An image in use is tried
/// for a second: its server may be about to end.
std::shared_ptr<const ImageClaim> claim_image(int descriptor, const std::string& name,
                                              ImageUse use);

}  // namespace blkscope
