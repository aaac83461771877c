#include "blockdev/backing/open_file.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "base/throw_errno.hpp"
#include "blockdev/backing/file_holes.hpp"
#include "blockdev/backing/unsupported.hpp"
#include "blockdev/ring/kernel.hpp"

namespace blkscope {
namespace {

constexpr uint64_t stat_block_bytes = 512;
constexpr uint32_t direct_block_bytes_fallback = 4096;  // if the kernel does not tell, nor a read

// The smallest unit that a direct read of the file's end takes. Nothing if all are refused.
std::optional<uint32_t> tried_alignment(int fd, uint64_t size_bytes) {
    constexpr uint32_t page = 4096;
    alignas(page) std::array<std::byte, page> memory;
    for (const uint32_t bytes : {1U, 512U, 1024U, 2048U, page}) {
        const uint64_t last = (size_bytes - 1) / bytes * bytes;
        if (::pread(fd, memory.data(), bytes, static_cast<off_t>(last)) > 0) return bytes;
    }
    return std::nullopt;
}

// The alignment of direct I/O on a regular file. Where the kernel does not tell, as of tmpfs, it is tried.
uint32_t direct_alignment(int fd, uint64_t size_bytes) {
#ifdef STATX_DIOALIGN
    struct statx info {};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
        (info.stx_mask & STATX_DIOALIGN) != 0 && info.stx_dio_offset_align != 0) {
        return info.stx_dio_offset_align;
    }
#endif
    return size_bytes == 0 ? 1
                           : tried_alignment(fd, size_bytes).value_or(direct_block_bytes_fallback);
}

// A number that the kernel tells of a disk's queue; for a partition, of the disk that it is on. Nothing for a network
// file system or an overlay.
std::optional<uint64_t> queue_number(dev_t device, const std::string& name) {
    const std::string at =
        "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
    for (const char* queue : {"/queue/", "/../queue/"}) {
        std::string path = at;
        path.append(queue).append(name);
        uint64_t number = 0;
        if (std::ifstream(path) >> number) return number;
    }
    return std::nullopt;
}

// Behind the end of a file there is nothing to lose. A file system that refuses for another reason may have holes.
bool has_holes(int fd, uint64_t size_bytes) {
    constexpr uint64_t unit = uint64_t{1} << 20;
    const auto behind = static_cast<off_t>((size_bytes / unit + 1) * unit);
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return fallocate(fd, mode, behind, unit) == 0 || !is_unsupported(errno);
}

// ext4 uses large folios since Linux 6.16, which make a small pwrite(2) expensive.
bool mapping_pays(int fd) {
    struct statfs file_system {};
    utsname kernel{};
    if (fstatfs(fd, &file_system) != 0 || uname(&kernel) != 0) return false;
    int major = 0;
    int minor = 0;
    if (std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
    return file_system.f_type == EXT4_SUPER_MAGIC && (major > 6 || (major == 6 && minor >= 16));
}

void measure(OpenFile& file) {
    assert(file.fd >= 0);
    struct stat info {};
    if (fstat(file.fd, &info) < 0) throw_errno("stat " + file.name);
    file.regular = S_ISREG(info.st_mode);
    const dev_t disk = S_ISBLK(info.st_mode) ? info.st_rdev : info.st_dev;
    file.rotational = queue_number(disk, "rotational") == 1;
    if (file.regular) {
        file.size_bytes = static_cast<uint64_t>(info.st_size);
        const uint64_t allocated = static_cast<uint64_t>(info.st_blocks) * stat_block_bytes;
        file.sparse = FileHoles::are_many(file.size_bytes - std::min(allocated, file.size_bytes),
                                          file.size_bytes);
        if (file.direct) file.block_bytes = direct_alignment(file.fd, file.size_bytes);
        file.trims = !file.read_only && has_holes(file.fd, file.size_bytes);
        file.mapping_pays = !file.direct && !file.read_only && mapping_pays(file.fd);
    } else if (S_ISBLK(info.st_mode)) {
        int sector = 512;
        if (ioctl(file.fd, BLKGETSIZE64, &file.size_bytes) < 0 ||
            ioctl(file.fd, BLKSSZGET, &sector) < 0) {
            throw_errno("size " + file.name);
        }
        int protects = 0;
        if (!file.read_only && ioctl(file.fd, BLKROGET, &protects) == 0 && protects != 0) {
            throw std::runtime_error("open " + file.name +
                                     ": the disk is read-only; serve it with --read-only");
        }
        assert(sector > 0);
        file.trim_bytes = static_cast<uint32_t>(sector);
        file.trims = !file.read_only && queue_number(disk, "discard_max_bytes") != 0;
        if (file.direct) file.block_bytes = file.trim_bytes;
    } else {
        throw std::invalid_argument("open " + file.name +
                                    ": neither a regular file nor a block device");
    }
}

void check_size(const OpenFile& file) {
    if (file.size_bytes == 0) {
        throw std::invalid_argument("open " + file.name +
                                    ": it is empty; give it a size, as in truncate -s 1G " +
                                    file.name);
    }
    assert(file.block_bytes > 0);
    if (file.size_bytes % file.block_bytes != 0) {
        throw std::invalid_argument(
            "open " + file.name + ": its size, " + std::to_string(file.size_bytes) +
            " bytes, is not a multiple of the " + std::to_string(file.block_bytes) +
            " that direct I/O needs; serve it without --direct");
    }
}

ImageUse use_of(const BackingOptions& options) {
    if (options.read_only) return options.force_shared ? ImageUse::read_shared : ImageUse::read;
    assert(!options.only_writer || !options.force_shared);
    if (options.only_writer) return ImageUse::write_alone;
    return options.force_shared ? ImageUse::write_shared : ImageUse::write;
}

// dup(2) would share the description, to which the kernel reports an error only once.
int open_again(int fd) {
    assert(fd >= 0);
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

// A failure is told once. An error that comes twice is one of the call: it is not there, or not allowed.
bool can_confirm(int fd) {
    return linux_kernel().failed_write_back(fd) == 0 || linux_kernel().failed_write_back(fd) == 0;
}

}  // namespace

OpenFile open_file(const std::string& path, const BackingOptions& options) {
    OpenFile file;
    file.name = path;
    file.direct = options.direct;
    file.read_only = options.read_only;
    // O_NONBLOCK: if the path is a FIFO by mistake, open() must not block. Files and disks ignore
    // it.
    const int flags = O_CLOEXEC | O_NONBLOCK | (file.read_only ? O_RDONLY : O_RDWR) |
                      (file.direct ? O_DIRECT : 0);
    file.fd = ::open(path.c_str(), flags);
    if (file.fd < 0) {
        const int error = errno;
        if (error == EINVAL && file.direct) {
            throw_errno(
                "open " + path + ": its file system has no direct I/O; serve it without --direct",
                error);
        }
        if (error == EACCES && !file.read_only && ::access(path.c_str(), R_OK) == 0) {
            throw std::runtime_error(
                "open " + path + ": it may be read, but not written; serve it with --read-only");
        }
        throw_errno("open " + path, error);
    }
    ::fcntl(file.fd, F_SETFL, flags & ~O_NONBLOCK);
    try {
        measure(file);
        check_size(file);
        file.claim = claim_image(file.fd, path, use_of(options));
        file.claimed = exclusive_of(*file.claim);
    } catch (...) {
        ::close(file.fd);
        throw;
    }
    if (file.read_only) return file;
    file.witness = open_again(file.fd);
    file.flusher = open_again(file.fd);
    file.confirmer = open_again(file.fd);
    if (file.confirmer >= 0 && !can_confirm(file.confirmer)) {
        ::close(file.confirmer);
        file.confirmer = -1;
    }
    return file;
}

}  // namespace blkscope
