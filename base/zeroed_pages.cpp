#include "base/zeroed_pages.hpp"

#include <sys/mman.h>

#include <cassert>

namespace blkscope {
namespace {

std::byte* map(size_t size_bytes) {
    void* const start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    // A kernel without huge pages refuses this call, and does not need it.
    (void)madvise(start, size_bytes, MADV_NOHUGEPAGE);
    return static_cast<std::byte*>(start);
}

}  // namespace

ZeroedPages::ZeroedPages(size_t size_bytes) : size_bytes_(size_bytes), start_(map(size_bytes)) {
    assert(size_bytes > 0);
}

ZeroedPages::~ZeroedPages() {
    if (start_ != nullptr) munmap(start_, size_bytes_);
}

bool ZeroedPages::drop(size_t first, size_t bytes) const {
    assert(start_ != nullptr);
    assert(first <= size_bytes_ && bytes <= size_bytes_ - first);
    return madvise(start_ + first, bytes, MADV_DONTNEED) == 0;
}

}  // namespace blkscope
