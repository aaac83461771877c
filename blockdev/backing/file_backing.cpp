#include "blockdev/backing/file_backing.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {
namespace {

constexpr uint32_t inline_write_bytes_max = 65536;
constexpr uint64_t cached_page_bytes = 4096;
constexpr hrtime_t full_ns = 1'000'000'000;
constexpr uint64_t read_ahead_bytes = uint64_t{64} << 20;  // at once

// For a part of a page that is not cached, the kernel may read the page from the disk first. The worker's other
// exports would wait for the disk, so the ring gets such a write. Only a mapping tells what is cached.
bool reads_first(const MappedFile& mapped, uint64_t at, uint64_t bytes) {
    if ((at | bytes) % cached_page_bytes == 0) return false;
    return mapped.usable() && !mapped.is_cached(at, bytes);
}

// A filesystem may look for space a long time before it says so.
bool lacks_space(int32_t result) {
    return result == -ENOSPC || result == -EDQUOT;
}

}  // namespace

FileBacking::File::File(const OpenFile& is, Kernel& runs_on)
    : kernel(runs_on), open(is), holes(is) {
    assert(is.fd >= 0 && is.size_bytes > 0);
    assert(is.block_bytes > 0 && is.trim_bytes > 0 && is.size_bytes % is.block_bytes == 0);
    if (is.regular && is.mapping_pays) mapped.map(runs_on, is.fd, is.size_bytes);
}

FileBacking::File::~File() {
    kernel.close(open.fd);
    if (open.witness >= 0) kernel.close(open.witness);
    if (open.flusher >= 0) kernel.close(open.flusher);
    if (open.confirmer >= 0) kernel.close(open.confirmer);
}

FileBacking::FileBacking(const OpenFile& file, Kernel& kernel)
    : FileBacking(std::make_shared<File>(file, kernel)) {}

FileBacking::FileBacking(std::shared_ptr<File> file)
    : file_(std::move(file)),
      is_(file_->open),
      kernel_(file_->kernel),
      on_ring_(is_.fd),
      zeroing_(is_, file_->holes, on_ring_) {
    if (!file_->mapped.usable()) return;
    choice_.emplace(is_.size_bytes);
    unmap_choice_.emplace(is_.size_bytes);
}

std::unique_ptr<Backing> FileBacking::another() const {
    return std::unique_ptr<Backing>(new FileBacking(file_));  // its constructor is private
}

std::optional<int32_t> FileBacking::prepare(Buf& buf) {
    assert(buf.state == Buf::State::running);
    assert(buf.op == Buf::Op::flush || buf.offset <= is_.size_bytes);
    assert(buf.op == Buf::Op::flush || buf.bcount <= is_.size_bytes - buf.offset);
    assert(!buf.in_queues() || buf.resid <= std::numeric_limits<uint32_t>::max());
    assert(!buf.in_queues() || buf.data != nullptr || buf.bcount == 0);
    switch (buf.op) {
        case Buf::Op::read:
            return on_ring_.prepare(buf, [&](io_uring_sqe* entry, int fd) {
                io_uring_prep_read(entry, fd, buf.data + buf.moved(),
                                   static_cast<unsigned>(buf.resid), buf.offset + buf.moved());
            });
        case Buf::Op::write:
            return buf.step == Buf::Step::work ? prepare_write(buf) : sync_by(is_.witness, buf);
        case Buf::Op::flush:
            return prepare_sync(buf);
        case Buf::Op::trim:
            return buf.step == Buf::Step::work ? zeroing_.prepare_trim(buf) : prepare_sync(buf);
        case Buf::Op::write_zeroes:
            return buf.step == Buf::Step::work ? zeroing_.prepare_zeroes(buf) : prepare_sync(buf);
        case Buf::Op::cache:
            return prepare_cache(buf);
        case Buf::Op::block_status:
            return 0;  // the device asks extent_at()
    }
    return -EOPNOTSUPP;
}

std::optional<int32_t> FileBacking::prepare_write(Buf& buf) {
    buf.handed_to_ring = 0;
    // A write with FUA has to wait for the disk in any case, so it goes to the ring.
    if (is_.regular && !is_.direct && !buf.fua) {
        if (const std::optional<int32_t> moved = write_inline(buf)) return moved;
    }
    const std::byte* const from = buf.data + (planted("rest-from-start") ? 0 : buf.moved());
    return on_ring_.prepare(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_write(entry, fd, from, static_cast<unsigned>(buf.resid),
                            buf.offset + buf.moved());
        if (buf.fua && !planted("fua-dropped")) entry->rw_flags = RWF_DSYNC;
    });
}

// Writes at once, by a copy or pwrite(2). Returns nothing if the ring must write.
std::optional<int32_t> FileBacking::write_inline(Buf& buf) {
    assert(buf.moved() + buf.resid == buf.bcount);
    const bool small = buf.resid <= inline_write_bytes_max;
    const bool chosen = choice_ && buf.resid > 0 && buf.resid <= write_size::bytes_max;
    if (!small && !chosen) return std::nullopt;
    if (full_until_ != 0 && kernel_.now() < full_until_) return std::nullopt;
    on_ring_.ring().unlock();
    if (reads_first(file_->mapped, buf.offset + buf.moved(), buf.resid)) return std::nullopt;
    std::optional<int32_t> moved;
    if (chosen) moved = write_cached(buf);
    if (!moved && small && buf.handed_to_ring == 0) {
        const std::span<const std::byte> from{buf.data + buf.moved(), buf.resid};
        moved = static_cast<int32_t>(kernel_.pwrite(is_.fd, from, buf.offset + buf.moved()));
    }
    if (moved) full_until_ = lacks_space(*moved) ? kernel_.now() + full_ns : 0;
    return moved;
}

// Writes to the page cache with the cheapest method. A large write to pages that are not cached may
// wait for the disk, so the ring gets it.
std::optional<int32_t> FileBacking::write_cached(Buf& buf) {
    assert(choice_.has_value());
    using Method = WriteChoice::Method;
    const uint64_t at = buf.offset + buf.moved();
    const std::span<const std::byte> from{buf.data + buf.moved(), buf.resid};
    MappedFile& mapped = file_->mapped;
    if (!mapped.usable()) return std::nullopt;
    const Method method = choice_->choose(at, from.size());
    const hrtime_t began = kernel_.now();
    auto moved = static_cast<int32_t>(from.size());
    if (method == Method::map && !mapped.try_write(at, from)) {
        choice_->not_copied(at, from.size());
        return std::nullopt;
    }
    if (method != Method::map && from.size() > inline_write_bytes_max &&
        !mapped.is_cached(at, from.size())) {
        return std::nullopt;
    }
    if (method == Method::ring && !planted("ring-chosen-in-vain")) {
        buf.handed_to_ring = began;
        return std::nullopt;
    }
    if (method == Method::pwrite) {
        const auto locked = mapped.lock(at, from.size());
        moved = static_cast<int32_t>(kernel_.pwrite(is_.fd, from, at));
    }
    const int64_t ns = to_ns(std::max<hrtime_t>(kernel_.now() - began, 0));
    if (moved == static_cast<int32_t>(from.size())) choice_->took(method, at, from.size(), ns);
    if (method == Method::map) learn_copy(at, from.size(), ns);
    return moved;
}

void FileBacking::learn_copy(uint64_t at, uint64_t bytes, int64_t ns) {
    assert(unmap_choice_.has_value());
    unmap_choice_->copied(at, bytes, ns);
    if (!unmap_choice_->should_unmap(at)) return;
    file_->mapped.unmap(at);
    unmap_choice_->unmapped(at, bytes);
}

// The kernel does one write to a file at a time. A write's own time therefore begins when it was
// prepared, or when the write before it ended, whichever is later.
void FileBacking::learn_ring_write(Buf& buf) {
    assert(buf.op == Buf::Op::write && choice_ && buf.handed_to_ring != 0);
    const hrtime_t now = kernel_.now();
    const hrtime_t began = std::max(buf.handed_to_ring, last_ring_write_end_);
    last_ring_write_end_ = now;
    buf.handed_to_ring = 0;
    if (buf.error != 0 || buf.bcount > write_size::bytes_max) return;
    choice_->took(WriteChoice::Method::ring, buf.offset, buf.bcount,
                  to_ns(std::max<hrtime_t>(now - began, 0)));
}

// Reads ahead into the page cache. Direct I/O does not use the page cache, so there is nothing to
// do.
std::optional<int32_t> FileBacking::prepare_cache(Buf& buf) {
    if (is_.direct) return 0;
    assert(buf.op == Buf::Op::cache);
    buf.covers = std::min(buf.resid, read_ahead_bytes);
    const uint64_t at = buf.offset + (planted("read-ahead-from-start") ? 0 : buf.moved());
    return on_ring_.prepare(buf, [&](io_uring_sqe* entry, int fd) {
        io_uring_prep_fadvise(entry, fd, at, static_cast<off_t>(buf.covers), POSIX_FADV_WILLNEED);
    });
}

std::optional<int32_t> FileBacking::prepare_sync(Buf& buf) {
    if (is_.read_only) return 0;
    file_->mapped.check_size();
    if (buf.op == Buf::Op::flush && is_.flusher >= 0) return sync_by(is_.flusher, buf);
    return on_ring_.prepare(buf, [](io_uring_sqe* entry, int fd) {
        io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
    });
}

// Reads whole blocks to an aligned buffer, as direct I/O needs. Other files have blocks of one
// byte.
bool FileBacking::read_now(uint64_t offset, std::span<std::byte> to) {
    constexpr size_t memory_alignment = 4096;
    const uint64_t first = offset / is_.block_bytes * is_.block_bytes;
    const uint64_t skipped = offset - first;
    const uint64_t bytes =
        (skipped + to.size() + memory_alignment - 1) / memory_alignment * memory_alignment;
    const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(memory_alignment, bytes),
                                                        std::free);
    if (!memory) return false;
    const uint64_t wanted = std::min(bytes, is_.size_bytes - std::min(first, is_.size_bytes));
    const std::span<std::byte> read{static_cast<std::byte*>(memory.get()), wanted};
    const ssize_t moved = kernel_.pread(is_.fd, read, first);
    if (moved < 0 || static_cast<uint64_t>(moved) < skipped + to.size()) return false;
    assert(skipped + to.size() <= read.size());
    std::memcpy(to.data(), read.data() + skipped, to.size());
    return true;
}

// For files of the page cache: a direct file's blocks would have to be read first.
bool FileBacking::write_now(uint64_t offset, std::span<const std::byte> from) {
    assert(is_.block_bytes == 1);
    while (!from.empty()) {
        const ssize_t moved = kernel_.pwrite(is_.fd, from, offset);
        if (moved == -EINTR) continue;
        if (moved <= 0) return false;
        assert(static_cast<uint64_t>(moved) <= from.size());
        offset += static_cast<uint64_t>(moved);
        from = from.subspan(static_cast<uint64_t>(moved));
    }
    return true;
}

bool FileBacking::sparse() const {
    if (!file_->holes.sparse()) return false;
    return look_credit_.is_whole() || look_credit_.is_left(kernel_ns(kernel_, kernel_.now()));
}

// lseek(2) moves the descriptor's position, which nothing else uses.
Extent FileBacking::extent_at(uint64_t offset, uint64_t limit) {
    assert(limit > 0 && offset < is_.size_bytes);
    assert(limit <= is_.size_bytes - offset);
    if (!is_.regular) return {limit, false};
    FileHoles& holes = file_->holes;
    const hrtime_t began = kernel_ns(kernel_, kernel_.now());
    if (const uint64_t known = holes.data_from(offset, began); known > 0) {
        return {std::min(known, limit), false};
    }
    const auto at = static_cast<int64_t>(offset);
    const uint64_t punches = holes.punches();
    const int64_t data = kernel_.seek(is_.fd, offset, SEEK_DATA);
    const int64_t hole = data == at ? end_of_data(offset) : at;
    const hrtime_t ended = kernel_ns(kernel_, kernel_.now());
    look_credit_.took(began, ended);
    if (hole > at) holes.found_data(offset, static_cast<uint64_t>(hole), began, ended, punches);
    if (data < 0) {
        // A hole up to the end, unless the file has been truncated. Then a read must find that.
        const bool whole = data == -ENXIO && kernel_.seek(is_.fd, 0, SEEK_END) >=
                                                 static_cast<int64_t>(is_.size_bytes);
        return {limit, whole};
    }
    if (data > at) return {std::min(static_cast<uint64_t>(data - at), limit), true};
    if (hole <= at) return {limit, false};  // the file has changed, or reports no holes
    return {std::min(static_cast<uint64_t>(hole - at), limit), false};
}

// Writes may have filled the holes.
int64_t FileBacking::end_of_data(uint64_t offset) {
    constexpr unsigned looks_between = 1024;
    if (++data_looks_ == looks_between) {
        data_looks_ = 0;
        const int64_t allocated = kernel_.allocated_bytes(is_.fd);
        if (allocated >= 0) file_->holes.measured(static_cast<uint64_t>(allocated));
    }
    return kernel_.seek(is_.fd, offset, SEEK_HOLE);
}

// Syncs with another description of the file, which is not in the ring's table.
std::optional<int32_t> FileBacking::sync_by(int description, Buf& buf) {
    assert(buf.op == Buf::Op::flush || buf.step == Buf::Step::sync);
    assert(description >= 0 && description != is_.fd);
    on_ring_.ring().prepare(buf, [&](io_uring_sqe* entry) {
        io_uring_prep_fsync(entry, description, IORING_FSYNC_DATASYNC);
    });
    return std::nullopt;
}

bool FileBacking::more(Buf& buf) {
    if (needs_more(buf)) return true;
    if (buf.op == Buf::Op::flush || (buf.fua && buf.error == 0)) confirm(buf);
    return false;
}

// All requests with FUA use one description, which is told each failure once. Of two at a time, the first to end
// may be told the second's. Then the second seems to succeed. A flush asks for all descriptions: a failure
// must not be told again when clear_sync_error() has forgotten it.
void FileBacking::confirm(Buf& buf) {
    if (is_.confirmer < 0 || planted("fua-not-confirmed")) return;
    int told = -kernel_.failed_write_back(is_.confirmer);
    for (const int other : {is_.fd, is_.witness}) {
        if (buf.op != Buf::Op::flush || other < 0) continue;
        if (const int failure = -kernel_.failed_write_back(other); told == 0) told = failure;
    }
    assert(told >= 0);
    if (told == 0 || buf.error != 0) return;
    buf.error = told;
    buf.step = Buf::Step::sync;
}

bool FileBacking::needs_more(Buf& buf) {
    if (buf.op == Buf::Op::write) return more_of_write(buf);
    if (!buf.discards()) return false;
    assert(buf.step != Buf::Step::settled);
    if (buf.step == Buf::Step::sync) return false;
    if (zeroing_.more(buf)) return true;
    if (buf.error != 0 || !buf.fua) return false;
    if (planted("zeroes-not-synced")) return false;
    buf.step = Buf::Step::sync;
    return true;
}

// A FUA write is one operation, and its error does not say whether the write or the sync failed.
// The kernel reports a failed sync once to each description of the file, so also to the witness. If
// the witness gets no error, only the write has failed, as on a full disk. Then no acknowledged
// data is lost.
//
//     work: the write ── error ──▶ sync: the witness's ──▶ error: a sync has failed
//                                                      └─▶ none: settled, with the write's error
bool FileBacking::more_of_write(Buf& buf) {
    assert(buf.step != Buf::Step::settled);
    if (buf.step == Buf::Step::work) {
        if (!buf.fua && buf.handed_to_ring != 0) learn_ring_write(buf);
        if (buf.error == 0 || !buf.fua) return false;
        buf.step = Buf::Step::sync;
        if (planted("fua-failure-sticks")) return false;
        if (is_.witness < 0) return false;  // not known, so it counts as a failed sync
        buf.write_error = std::exchange(buf.error, 0);
        return true;
    }
    if (buf.error != 0) return false;
    assert(buf.write_error != 0);
    buf.error = buf.write_error;
    buf.step = Buf::Step::settled;
    return false;
}

}  // namespace blkscope
