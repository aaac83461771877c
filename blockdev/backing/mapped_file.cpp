#include "blockdev/backing/mapped_file.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <kstat/clock.hpp>

namespace blkscope {
namespace {

constexpr size_t small_bytes_max = 65536;
constexpr size_t write_bytes_max = 131072;
constexpr size_t page_bytes_min = 4096;

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

// Of a copy under way; volatile, for only the handler reads it.
thread_local sigjmp_buf* volatile landing = nullptr;
struct sigaction before_us;

void on_bus_error(int signal) {
    if (landing != nullptr) siglongjmp(*landing, 1);
    sigaction(signal, &before_us, nullptr);  // not ours: the access is made again, and meets that
}

void catch_bus_errors() {
    static const bool once = [] {
        struct sigaction action {};
        action.sa_handler = on_bus_error;
        action.sa_flags = SA_NODEFER;  // left by a jump, which does not unblock the signal
        return sigaction(SIGBUS, &action, &before_us) == 0;
    }();
    static_cast<void>(once);
}

// False: the memory behind `to` is gone, or cannot be had.
bool copy(std::byte* to, std::span<const std::byte> from) {
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        landing = nullptr;
        return false;
    }
    landing = &here;
    std::memcpy(to, from.data(), from.size());
    landing = nullptr;
    return true;
}

size_t page_bytes() {
    static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

MappedFile::~MappedFile() {
    if (start_ != nullptr) munmap(start_, size_bytes_);
}

bool MappedFile::pays(int fd) {
    struct statfs file_system {};
    utsname kernel{};
    if (fstatfs(fd, &file_system) != 0 || uname(&kernel) != 0) return false;
    int major = 0;
    int minor = 0;
    if (std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
    return file_system.f_type == EXT4_SUPER_MAGIC && (major > 6 || (major == 6 && minor >= 16));
}

void MappedFile::map(int fd, uint64_t size_bytes) {
    assert(start_ == nullptr);
    void* const start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (start == MAP_FAILED) return;
    catch_bus_errors();
    start_ = static_cast<std::byte*>(start);
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
    if (from.empty() || !is_cached(to, to + from.size())) return false;
    const auto held = stripes_.hold(offset, from.size());
    const hrtime_t began = kstat::now_unscaled();
    if (!copy(to, from)) return false;
    const int64_t ns = kstat::to_ns(kstat::now_unscaled() - began);
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
    madvise(start_ + first, std::min(range_bytes, size_bytes_ - first), MADV_DONTNEED);
}

bool MappedFile::is_cached(std::byte* first, const std::byte* end) const {
    std::array<unsigned char, write_bytes_max / page_bytes_min + 1> cached{};
    std::byte* const page = first - reinterpret_cast<uintptr_t>(first) % page_bytes();
    const auto bytes = static_cast<size_t>(end - page);
    if (mincore(page, bytes, cached.data()) != 0) return false;
    const size_t pages = (bytes + page_bytes() - 1) / page_bytes();
    return std::all_of(cached.begin(), cached.begin() + pages,
                       [](unsigned char page_is) { return (page_is & 1) != 0; });
}

}  // namespace blkscope
