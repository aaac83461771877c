// Which errors of fallocate(2) and of a disk's ioctl(2) mean that there is another way to try.
//
// Source: fallocate(2), ioctl(2), seccomp(2); vfs_fallocate() and blkdev_fallocate() of Linux.
#pragma once

#include <cerrno>

namespace blkscope {

/// The file system or the disk never does this: the next request need not ask again. ENODEV and ENOTTY are answers of
/// drivers without the call.
constexpr bool is_unsupported(int error) {
    return error == EOPNOTSUPP || error == ENOSYS || error == ENODEV || error == ENOTTY;
}

/// It was refused, and may be allowed for another range or at another time. EINVAL: the file system has larger units
/// here. EPERM, EACCES: a seal, an attribute or a filter of system calls. EBUSY, ETXTBSY: another program has the disk
/// or the file.
constexpr bool is_refusal(int error) {
    return error == EINVAL || error == EPERM || error == EACCES || error == EBUSY ||
           error == ETXTBSY;
}

}  // namespace blkscope
