#include "blockdev/backing/file_backing.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace blkscope {
namespace {

constexpr uint32_t inline_write_bytes_max = 65536;
constexpr uint64_t stat_block_bytes = 512;
constexpr uint64_t zeroes_bytes = uint64_t{1}
                                  << 20;  // written at once, where there is no better way
constexpr uint64_t read_ahead_bytes = uint64_t{64} << 20;  // at once
constexpr uint32_t direct_block_bytes_fallback = 4096;     // where the kernel does not say

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

// Aligned as direct I/O needs it, and all of it the kernel's one page of zeroes.
const void* zeroes() {
    static const void* const memory = [] {
        void* made = mmap(nullptr, zeroes_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) fail("reserve memory for zeroes");
        return made;
    }();
    return memory;
}

bool unsupported(int error) {
    return error == EOPNOTSUPP || error == ENOSYS;
}

// What the kernel says of a disk, or of the disk that a partition is on; false where it says
// nothing (a network file system, an overlay).
bool on_rotational_disk(dev_t device) {
    const std::string at =
        "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
    for (const char* queue : {"/queue/rotational", "/../queue/rotational"}) {
        char answer = '0';
        if (std::ifstream(at + queue) >> answer) return answer == '1';
    }
    return false;
}

}  // namespace

FileBacking::FileBacking(const std::string& path, const BackingOptions& options) : path_(path) {
    open_file(options);
    try {
        measure(options.direct);
        if (regular_ && !direct_ && !read_only_ && MappedFile::pays(fd_)) {
            file_->mapped.map(fd_, size_bytes_);
        }
    } catch (...) {
        ::close(fd_);
        throw;
    }
}

FileBacking::FileBacking(const FileBacking& other)
    : Backing(),
      path_(other.path_),
      fd_(::fcntl(other.fd_, F_DUPFD_CLOEXEC, 0)),
      size_bytes_(other.size_bytes_),
      block_bytes_(other.block_bytes_),
      trim_bytes_(other.trim_bytes_),
      regular_(other.regular_),
      direct_(other.direct_),
      read_only_(other.read_only_),
      rotational_(other.rotational_),
      file_(other.file_) {
    if (fd_ < 0) fail("open " + path_ + " for one more worker");
}

std::unique_ptr<Backing> FileBacking::another() const {
    return std::unique_ptr<Backing>(new FileBacking(*this));  // its constructor is private
}

FileBacking::~FileBacking() {
    if (ring_ != nullptr) ring_->uring().remove_file(fixed_);
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
    rotational_ = on_rotational_disk(S_ISBLK(info.st_mode) ? info.st_rdev : info.st_dev);
    if (regular_) {
        size_bytes_ = static_cast<uint64_t>(info.st_size);
        file_->sparse = static_cast<uint64_t>(info.st_blocks) * stat_block_bytes < size_bytes_;
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
    fixed_ = ring.uring().add_file(fd_);
}

template <class Prepare>
std::optional<int32_t> FileBacking::prepare_on_file(Buf& buf, Prepare prepare) {
    ring_->prepare(buf, [&](io_uring_sqe* entry) {
        prepare(entry, fixed_ >= 0 ? fixed_ : fd_);
        if (fixed_ >= 0) entry->flags |= IOSQE_FIXED_FILE;
    });
    return std::nullopt;
}

std::optional<int32_t> FileBacking::prepare(Buf& buf) {
    switch (buf.op) {
        case Buf::Op::read:
            return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
                io_uring_prep_read(entry, fd, buf.data + buf.moved(),
                                   static_cast<unsigned>(buf.resid), buf.offset + buf.moved());
            });
        case Buf::Op::write:
            return prepare_write(buf);
        case Buf::Op::flush:
            return prepare_sync(buf);
        case Buf::Op::trim:
            return buf.step == 0 ? prepare_trim(buf) : prepare_sync(buf);
        case Buf::Op::write_zeroes:
            return buf.step == 0 ? prepare_zeroes(buf) : prepare_sync(buf);
        case Buf::Op::cache:
            return prepare_cache(buf);
        case Buf::Op::block_status:
            return 0;  // the device asks extent_at()
    }
    return 0;
}

// A request that must be on the disk before it is answered sleeps anyway: it goes to the ring.
bool FileBacking::may_leave_the_ring(const Buf& buf) const {
    return regular_ && !direct_ && !buf.fua;
}

std::optional<int32_t> FileBacking::prepare_write(Buf& buf) {
    const std::byte* from = buf.data + buf.moved();
    const uint64_t at = buf.offset + buf.moved();
    if (may_leave_the_ring(buf) && file_->mapped.takes(buf.resid)) {
        ring_->let_go();
        if (file_->mapped.try_write(at, {from, buf.resid})) {
            return static_cast<int32_t>(buf.resid);
        }
    }
    if (may_leave_the_ring(buf) && buf.resid <= inline_write_bytes_max) {
        ring_->let_go();
        const ssize_t moved = ::pwrite(fd_, from, buf.resid, static_cast<off_t>(at));
        return moved < 0 ? -errno : static_cast<int32_t>(moved);
    }
    if (buf.fua) file_->mapped.flushing();
    return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_write(entry, fd, from, static_cast<unsigned>(buf.resid), at);
        if (buf.fua) entry->rw_flags = RWF_DSYNC;
    });
}

// A hint, so it may do less: only whole blocks inside the range, nothing where the file system
// cannot.
std::optional<int32_t> FileBacking::prepare_trim(Buf& buf) {
    const uint64_t first = (buf.offset + trim_bytes_ - 1) / trim_bytes_ * trim_bytes_;
    const uint64_t end = (buf.offset + buf.bcount) / trim_bytes_ * trim_bytes_;
    if (!file_->can_punch || first >= end) return 0;
    return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_fallocate(entry, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(first), static_cast<off_t>(end - first));
    });
}

// Without fast_zero there is always a way; with it, only those that cost no more than a write. What
// a disk does to zero a range that stays provisioned, nobody knows, and it may be to write it.
FileBacking::Zeroing FileBacking::zeroing_for(const Buf& buf) const {
    const bool aligned = buf.offset % trim_bytes_ == 0 && buf.bcount % trim_bytes_ == 0;
    if (buf.fast_zero && !aligned) return Zeroing::none;
    if (file_->can_punch && !buf.no_hole) return Zeroing::punch;
    if (file_->can_zero_range && (regular_ || !buf.fast_zero)) return Zeroing::zero_range;
    return buf.fast_zero ? Zeroing::none : Zeroing::write;
}

std::optional<int32_t> FileBacking::prepare_zeroes(Buf& buf) {
    if (buf.resid == 0) return 0;
    const uint64_t at = buf.offset + buf.moved();
    const uint64_t to_aligned = (trim_bytes_ - at % trim_bytes_) % trim_bytes_;
    const Zeroing way = zeroing_for(buf);
    buf.way = static_cast<uint8_t>(way);
    if (way == Zeroing::none) return -EOPNOTSUPP;
    if (way != Zeroing::write && to_aligned == 0 && buf.resid >= trim_bytes_) {
        return prepare_fallocate(
            buf, way == Zeroing::punch ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE);
    }
    const bool edge = way != Zeroing::write && to_aligned > 0;
    const uint64_t bytes = std::min({buf.resid, zeroes_bytes, edge ? to_aligned : zeroes_bytes});
    buf.covers = 0;  // the result says how much was written
    return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_write(entry, fd, zeroes(), static_cast<unsigned>(bytes), at);
    });
}

// Of what is left, all that is whole blocks.
std::optional<int32_t> FileBacking::prepare_fallocate(Buf& buf, int mode) {
    buf.covers = buf.resid / trim_bytes_ * trim_bytes_;
    return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_fallocate(entry, fd, mode | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(buf.offset + buf.moved()),
                                static_cast<off_t>(buf.covers));
    });
}

// Reading ahead into the page cache; past it there is nothing to bring nearer.
std::optional<int32_t> FileBacking::prepare_cache(Buf& buf) {
    if (direct_) return 0;
    buf.covers = std::min(buf.resid, read_ahead_bytes);
    return prepare_on_file(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_fadvise(entry, fd, buf.offset + buf.moved(), static_cast<off_t>(buf.covers),
                              POSIX_FADV_WILLNEED);
    });
}

std::optional<int32_t> FileBacking::prepare_sync(Buf& buf) {
    if (read_only_) return 0;
    file_->mapped.flushing();
    return prepare_on_file(buf, [](io_uring_sqe* entry, int fd) {
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

// lseek(2) moves the descriptor's position, which nothing else uses.
Extent FileBacking::extent_at(uint64_t offset, uint64_t limit) {
    const auto at = static_cast<off_t>(offset);
    if (!regular_) return {limit, false};
    const off_t data = ::lseek(fd_, at, SEEK_DATA);
    if (data < 0) {
        // A hole up to the end, unless the file has been cut short: a read is to find that out.
        struct stat info {};
        const bool whole = errno == ENXIO && fstat(fd_, &info) == 0 &&
                           static_cast<uint64_t>(info.st_size) >= size_bytes_;
        return {limit, whole};
    }
    if (data > at) return {std::min(static_cast<uint64_t>(data - at), limit), true};
    const off_t hole = ::lseek(fd_, at, SEEK_HOLE);
    if (hole <= at) return {limit, false};  // it changes under our eyes, or cannot tell
    return {std::min(static_cast<uint64_t>(hole - at), limit), false};
}

bool FileBacking::more(Buf& buf) {
    if (!buf.discards()) return false;
    if (buf.step == 0 && (buf.op == Buf::Op::trim ? more_of_trim(buf) : more_of_zeroes(buf))) {
        return true;
    }
    if (buf.error != 0 || !buf.fua || buf.step == 1) return false;
    buf.step = 1;
    return true;
}

// A trim that cannot be done is done.
bool FileBacking::more_of_trim(Buf& buf) {
    if (!unsupported(buf.error)) {
        if (regular_) file_->sparse = true;
        return false;
    }
    file_->can_punch = false;
    buf.error = 0;
    buf.resid = 0;
    return false;
}

// The next way is tried where the best one is not to be had, now and from now on.
bool FileBacking::more_of_zeroes(Buf& buf) {
    const Zeroing way{buf.way};
    if (!unsupported(buf.error)) {
        if (regular_) file_->sparse = true;
        return false;
    }
    if (way == Zeroing::write || way == Zeroing::none) return false;
    forget_zeroing(way);
    buf.error = 0;
    return true;
}

void FileBacking::forget_zeroing(Zeroing way) {
    (way == Zeroing::punch ? file_->can_punch : file_->can_zero_range) = false;
}

}  // namespace blkscope
