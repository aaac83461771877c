#include "blockdev/backing/mapped_file.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <kstat/clock.hpp>

namespace blkscope {
namespace {

constexpr size_t small_bytes_max = 65536;
constexpr size_t write_bytes_max = 131072;

// What is unmapped at a time: the largest folio of x86-64's page cache. A copy takes long if it met
// a folio of 256 KiB or more, so half as many as are put up with map all of it, and a range that a
// client writes to once or twice between its flushes is left alone.
constexpr uint64_t range_bytes = uint64_t{2} << 20;
constexpr uint8_t long_copies_max = 16;

// A copy of 4 KiB takes 0.3 us, with a small folio's fault 3 us, with a large one's 10 to 50 us.
constexpr int64_t long_ns_min = 8'000;
constexpr int64_t bytes_per_ns = 8;  // of the copy itself

// A copy of 128 KiB that met one fault takes less, and one that met a fault for each page more.
constexpr int64_t fault_each_page_ns_min = 60'000;
constexpr size_t many_pages_bytes = 32768;

// Large writes pay when each page that a flush has made us map anew is written several times.
constexpr uint64_t times_between_flushes = 2;

}  // namespace

MappedFile::~MappedFile() {
    if (start_ != nullptr) kernel_->unmap(start_, size_bytes_);
}

void MappedFile::map(Kernel& kernel, int fd, uint64_t size_bytes) {
    assert(start_ == nullptr && size_bytes > 0);
    std::byte* const start = kernel.map(fd, size_bytes);
    if (start == nullptr) return;
    kernel_ = &kernel;
    start_ = start;
    size_bytes_ = size_bytes;
    patience_.resize(size_bytes / range_bytes + 1);
}

bool MappedFile::takes(uint64_t bytes) {
    if (start_ == nullptr) return false;
    if (bytes <= small_bytes_max) return true;
    const uint64_t before = large_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return bytes <= write_bytes_max && before / times_between_flushes >= size_bytes_;
}

bool MappedFile::try_write(uint64_t offset, std::span<const std::byte> from) {
    if (start_ == nullptr || from.size() > write_bytes_max) return false;
    assert(offset <= size_bytes_ && from.size() <= size_bytes_ - offset);
    std::byte* const to = start_ + offset;
    if (from.empty() || !kernel_->is_cached(to, from.size())) return false;
    const auto held = stripes_.hold(offset, from.size());
    const hrtime_t began = kernel_->now();
    if (!kernel_->copy(to, from)) return false;
    const int64_t ns = kstat::to_ns(kernel_->now() - began);
    const int64_t faults_ns = ns - static_cast<int64_t>(from.size()) / bytes_per_ns;
    const bool many_pages = from.size() >= many_pages_bytes;
    if (many_pages && faults_ns > fault_each_page_ns_min) {
        unmap(offset / range_bytes);
    } else if (faults_ns > long_ns_min) {
        took_long(offset / range_bytes);
    }
    return true;
}

// Unmapped, a range costs a long copy for each of its folios, and each of these maps one. Longer
// ones after that mean that the kernel has written it to the disk again.
void MappedFile::took_long(uint64_t range) {
    const std::atomic_ref<uint8_t> patience(patience_[range]);
    // Another worker may be here, too: what it takes off may be lost, but never goes below none.
    if (const uint8_t left = patience; left > 0) {
        patience = static_cast<uint8_t>(left - 1);
    } else {
        unmap(range);
    }
}

void MappedFile::unmap(uint64_t range) {
    std::atomic_ref<uint8_t>{patience_[range]} = long_copies_max;
    const uint64_t first = range * range_bytes;
    assert(first < size_bytes_);
    kernel_->forget(start_ + first, std::min(range_bytes, size_bytes_ - first));
}

}  // namespace blkscope
