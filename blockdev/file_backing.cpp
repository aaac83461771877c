#include "blockdev/file_backing.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace blkscope {
namespace {

constexpr uint32_t inline_write_bytes_max = 65536;
constexpr uint32_t direct_block_bytes_fallback = 4096;  // where the kernel does not say

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// What direct I/O on a regular file must be aligned to.
uint32_t direct_alignment(int fd) {
#ifdef STATX_DIOALIGN
    struct statx info {};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
        (info.stx_mask & STATX_DIOALIGN) != 0 && info.stx_dio_offset_align != 0) {
        return info.stx_dio_offset_align;
    }
#else
    (void)fd;
#endif
    return direct_block_bytes_fallback;
}

}  // namespace

FileBacking::FileBacking(const std::string& path, const BackingOptions& options) : path_(path) {
    open_file(options);
    try {
        measure(options.direct);
    } catch (...) {
        ::close(fd_);
        throw;
    }
}

FileBacking::~FileBacking() {
    if (ring_ != nullptr) ring_->unregister_file(fixed_);
    ::close(fd_);
}

void FileBacking::open_file(const BackingOptions& options) {
    direct_ = options.direct;
    read_only_ = options.read_only;
    // O_NONBLOCK: a FIFO by mistake must not hang the start; files and disks ignore it.
    const int flags =
        O_CLOEXEC | O_NONBLOCK | (read_only_ ? O_RDONLY : O_RDWR) | (direct_ ? O_DIRECT : 0);
    fd_ = ::open(path_.c_str(), flags);
    if (fd_ < 0) fail("open " + path_);
    ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK);
}

void FileBacking::measure(bool direct) {
    struct stat info {};
    if (fstat(fd_, &info) < 0) fail("stat " + path_);
    regular_ = S_ISREG(info.st_mode);
    if (regular_) {
        size_bytes_ = static_cast<uint64_t>(info.st_size);
        if (direct) block_bytes_ = direct_alignment(fd_);
    } else if (S_ISBLK(info.st_mode)) {
        int sector = 512;
        if (ioctl(fd_, BLKGETSIZE64, &size_bytes_) < 0 || ioctl(fd_, BLKSSZGET, &sector) < 0) {
            fail("size " + path_);
        }
        trim_bytes_ = static_cast<uint32_t>(sector);
        if (direct) block_bytes_ = trim_bytes_;
    } else {
        throw std::invalid_argument("open " + path_ +
                                    ": neither a regular file nor a block device");
    }
    if (size_bytes_ == 0) {
        throw std::invalid_argument("open " + path_ +
                                    ": it is empty; give it a size, as in truncate -s 1G " + path_);
    }
    if (size_bytes_ % block_bytes_ != 0) {
        throw std::invalid_argument("open " + path_ + ": its size, " + std::to_string(size_bytes_) +
                                    " bytes, is not a multiple of the " +
                                    std::to_string(block_bytes_) +
                                    " that direct I/O needs; serve it without --direct");
    }
}

void FileBacking::attach(Ring& ring) {
    ring_ = &ring;
    fixed_ = ring.register_file(fd_);
}

template <class Prepare>
void FileBacking::prepare_on_file(Buf& buf, Prepare prepare) {
    ring_->prepare(buf, [&](io_uring_sqe* entry) {
        prepare(entry, fixed_ >= 0 ? fixed_ : fd_);
        if (fixed_ >= 0) entry->flags |= IOSQE_FIXED_FILE;
    });
}

void FileBacking::prepare(Buf& buf) {
    switch (buf.op) {
        case Buf::Op::read:
            return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
                io_uring_prep_read(entry, fd, buf.data + buf.moved(), buf.resid,
                                   buf.offset + buf.moved());
            });
        case Buf::Op::write:
            return prepare_write(buf);
        case Buf::Op::flush:
            return prepare_sync(buf);
        case Buf::Op::trim:
            return buf.step == 0 ? prepare_trim(buf) : prepare_sync(buf);
    }
}

// A request that must be on the disk before it is answered sleeps anyway: it goes to the ring.
bool FileBacking::writes_inline(const Buf& buf) const {
    return regular_ && !direct_ && !buf.fua && buf.resid <= inline_write_bytes_max;
}

void FileBacking::prepare_write(Buf& buf) {
    const std::byte* from = buf.data + buf.moved();
    const uint64_t at = buf.offset + buf.moved();
    if (writes_inline(buf)) {
        const ssize_t moved = ::pwrite(fd_, from, buf.resid, static_cast<off_t>(at));
        return ring_->completed(buf, moved < 0 ? -errno : static_cast<int32_t>(moved));
    }
    prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_write(entry, fd, from, buf.resid, at);
        if (buf.fua) entry->rw_flags = RWF_DSYNC;
    });
}

// A hint, so it may do less: only whole blocks inside the range, nothing where the file system
// cannot.
void FileBacking::prepare_trim(Buf& buf) {
    const uint64_t first = (buf.offset + trim_bytes_ - 1) / trim_bytes_ * trim_bytes_;
    const uint64_t end = (buf.offset + buf.bcount) / trim_bytes_ * trim_bytes_;
    if (!can_trim_ || first >= end) return ring_->completed(buf, 0);
    prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_fallocate(entry, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(first), static_cast<off_t>(end - first));
    });
}

void FileBacking::prepare_sync(Buf& buf) {
    if (read_only_) return ring_->completed(buf, 0);
    prepare_on_file(buf, [](io_uring_sqe* entry, int fd) {
        io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
    });
}

// Through a buffer that suits direct I/O, in whole blocks; a plain file has blocks of one byte.
bool FileBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    constexpr size_t memory_alignment = 4096;
    const uint64_t first = offset / block_bytes_ * block_bytes_;
    const uint64_t skipped = offset - first;
    const uint64_t bytes =
        (skipped + to.size() + memory_alignment - 1) / memory_alignment * memory_alignment;
    const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(memory_alignment, bytes),
                                                        std::free);
    if (!memory) return false;
    const uint64_t wanted = std::min(bytes, size_bytes_ - std::min(first, size_bytes_));
    const ssize_t moved = ::pread(fd_, memory.get(), wanted, static_cast<off_t>(first));
    if (moved < 0 || static_cast<uint64_t>(moved) < skipped + to.size()) return false;
    std::memcpy(to.data(), static_cast<std::byte*>(memory.get()) + skipped, to.size());
    return true;
}

bool FileBacking::more(Buf& buf) {
    if (buf.op != Buf::Op::trim) return false;
    if (buf.error == EOPNOTSUPP || buf.error == ENOSYS) {
        can_trim_ = false;
        buf.error = 0;
        buf.resid = 0;
    }
    if (buf.error != 0 || !buf.fua || buf.step == 1) return false;
    buf.step = 1;
    return true;
}

}  // namespace blkscope
