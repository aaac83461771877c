// In a file of its own: where g++ 12 inlines the free() below, it warns of a mismatch.
#include "largest_allocation.hpp"

#include <cstdlib>
#include <new>

namespace blkscope::nbd::testing {
std::atomic<size_t> largest_allocation{0};
}  // namespace blkscope::nbd::testing

// The operator delete below frees the memory of both forms.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    std::atomic<size_t>& largest = blkscope::nbd::testing::largest_allocation;
    if (bytes > largest) largest = bytes;
    return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(size_t bytes) {
    if (void* memory = operator new(bytes, std::nothrow)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}
