#include "blockdev/backing/mapped_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "blockdev/ring/planted.hpp"

namespace blkscope {

MappedFile::~MappedFile() {
    if (start_ != nullptr) kernel_->unmap(start_, size_bytes_);
}

// A page of page tables maps an aligned range of addresses; the mapping may begin inside one.
void MappedFile::map(Kernel& kernel, int fd, uint64_t size_bytes, size_t ranges) {
    assert(start_ == nullptr && size_bytes > 0 && ranges > 0);
    std::byte* const start = kernel.map(fd, size_bytes);
    if (start == nullptr) return;
    kernel_ = &kernel;
    fd_ = fd;
    start_ = start;
    size_bytes_ = size_bytes;
    skew_ = reinterpret_cast<uintptr_t>(start) % range_bytes;
    const size_t count = range_at(size_bytes - 1) + 1;
    assert(count <= std::numeric_limits<uint32_t>::max());
    slots_max_ = std::min(ranges, count);
    marks_.resize(count);
    slots_.reserve(slots_max_);
    usable_ = true;
}

size_t MappedFile::range_at(uint64_t offset) const {
    assert(offset < size_bytes_);
    return (skew_ + offset) / range_bytes;
}

bool MappedFile::is_cached(uint64_t offset, uint64_t bytes) const {
    if (!usable()) return false;
    assert(offset <= size_bytes_ && bytes <= size_bytes_ - offset);
    return kernel_->is_cached(start_ + offset, bytes);
}

bool MappedFile::try_write(uint64_t offset, std::span<const std::byte> from) {
    if (from.empty() || from.size() > write_bytes_max || !is_cached(offset, from.size())) {
        return false;
    }
    const size_t first = range_at(offset);
    const size_t last = range_at(offset + from.size() - 1);
    assert(last - first <= 1);  // a write is shorter than a range
    touch(first);
    if (last != first) touch(last);
    const auto locked = stripes_.lock(offset, from.size());
    return kernel_->copy(start_ + offset, from);
}

// A mark changes in one atomic step. With two steps, another worker could take the range out of the
// slots between them.
void MappedFile::touch(size_t range) {
    assert(range < marks_.size());
    const std::atomic_ref<uint8_t> mark(marks_[range]);
    uint8_t was = mark.load(std::memory_order_relaxed);
    if (was == used) return;
    if (was == mapped && mark.compare_exchange_strong(was, used, std::memory_order_relaxed)) return;
    if (was == none) enter(range);
}

// True if the range was not used since the last look, and has no slot from here on.
bool MappedFile::take_unused(size_t range) {
    assert(range < marks_.size());
    const std::atomic_ref<uint8_t> mark(marks_[range]);
    uint8_t was = mapped;
    if (mark.compare_exchange_strong(was, none)) return true;
    assert(was == used);  // a range with a slot has a mark
    mark.store(mapped);
    return false;
}

// Another worker may be copying to the range that is forgotten here. Its page of page tables then
// exists without being counted, until the range is forgotten again.
void MappedFile::enter(size_t range) {
    const std::lock_guard locked(slots_lock_);
    const std::atomic_ref<uint8_t> mark(marks_[range]);
    if (mark != none) return;  // another worker was first
    assert(slots_.size() <= slots_max_);
    mark = mapped;
    if (slots_.size() < slots_max_) return slots_.push_back(static_cast<uint32_t>(range));
    assert(hand_ < slots_.size());
    while (!take_unused(slots_[hand_])) hand_ = (hand_ + 1) % slots_max_;
    forget(slots_[hand_]);
    slots_[hand_] = static_cast<uint32_t>(range);
    hand_ = (hand_ + 1) % slots_max_;
}

void MappedFile::forget(size_t range) {
    assert(range < marks_.size());
    const uint64_t first = std::max(range * range_bytes, skew_) - skew_;
    const uint64_t end = std::min((range + 1) * range_bytes - skew_, size_bytes_);
    assert(first < end && end <= size_bytes_);
    kernel_->forget(start_ + first, end - first);
}

void MappedFile::unmap(uint64_t offset) {
    if (start_ != nullptr) forget(range_at(offset));
}

void MappedFile::check_size() {
    if (!usable()) return;
    const int64_t bytes = kernel_->seek(fd_, 0, SEEK_END);
    if (planted("mapping-kept")) return;
    if (bytes < static_cast<int64_t>(size_bytes_)) usable_ = false;
}

}  // namespace blkscope
