// ImageClaim: this process' claim on a disk or image file. Of two servers on one image, one writes.
//
// A writing server takes an exclusive flock(2) on a regular file. A block device is opened with
// O_EXCL, which the kernel refuses for a mounted one. The server also looks for a loop device that
// writes to the file, and for the locks of qemu.
//
// A server of a loop device does the same with its file. The flock(2) is shared if the device has
// only a part of the file. A file that is deleted, or that may not be opened, is left out.
//
// The locks of qemu are bytes. Each is a yes or a no of some qemu program:
//
//     byte   101: writes   103: may resize              what the program does
//     byte   200: no reading   201: no writing          what others must not do
//
// A writing server is refused where any of the four is locked, and a reading server only by 200. No
// server locks these bytes. Else qemu-img could not read an image that is served, and qemu-nbd
// could not serve it for a comparison.
//
// All exports of one process share one claim. One server may serve an image twice. A reload may
// open the new export before the old one has ended. A process that has the claim to write looks for
// no other user again. But an export that keeps writes to itself must be the only one that writes.
//
// Ownership: the claim lasts as long as the object. The kernel ends it with the process.
// Threads:   any.
// Errors:    claim_image() throws std::runtime_error for an image that others use, and
//            std::system_error. Where a file system has no locks, none are taken or found.
// Source:    fcntl(2) F_OFD_SETLK, flock(2) and its notes on NFS, open(2) O_EXCL; qemu's
//            raw_apply_lock_bytes() and BLK_PERM_*, seen with qemu-nbd 7.2 in /proc/locks.
#pragma once

#include <memory>
#include <string>

namespace blkscope {

enum class ImageUse {
    read,          // beside all programs that let others read
    write,         // beside readers only, and beside writers of this process
    write_alone,   // beside readers only
    read_shared,   // beside any program: the user insists
    write_shared,  // the same, and writes
};

/// One claim of this process, which ends with its last owner.
class ImageClaim;

/// Claims the image that is open as `descriptor`; errors call it `name`. An image in use is tried
/// for a second: its server may be about to end.
std::shared_ptr<const ImageClaim> claim_image(int descriptor, const std::string& name,
                                              ImageUse use);

/// The description with O_EXCL, if the claim is one to write to a block device; otherwise -1. The
/// description lasts as long as the claim.
int exclusive_of(const ImageClaim& claim);

}  // namespace blkscope
