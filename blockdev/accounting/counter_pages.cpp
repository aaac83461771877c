#include "blockdev/accounting/counter_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstring>
#include <new>

namespace blkscope {
namespace {

size_t up_to_whole_pages(size_t size_bytes) {
    static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return (size_bytes + page - 1) / page * page;
}

void* map(size_t size_bytes) {
    assert(size_bytes > 0);
    void* const start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    // A kernel without huge pages refuses this call, and does not need it.
    (void)madvise(start, size_bytes, MADV_NOHUGEPAGE);
    return start;
}

}  // namespace

CounterMapping::CounterMapping(size_t size_bytes)
    : size_bytes_(up_to_whole_pages(size_bytes)), start_(map(size_bytes_)) {
    assert(size_bytes_ >= size_bytes && size_bytes_ == up_to_whole_pages(size_bytes));
}

CounterMapping::~CounterMapping() {
    munmap(start_, size_bytes_);
}

void CounterMapping::clear() {
    // The kernel keeps pages that are locked in memory; then zeroes are written instead.
    if (madvise(start_, size_bytes_, MADV_DONTNEED) != 0) std::memset(start_, 0, size_bytes_);
}

}  // namespace blkscope
