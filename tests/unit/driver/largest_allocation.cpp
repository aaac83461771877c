// In a file of its own: inlined into its callers, g++ 12 takes the free() below for a mistake.
#include "largest_allocation.hpp"

#include <cstdlib>
#include <new>

namespace blkscope::nbd::testing {
std::atomic<std::size_t> largest_allocation{0};
}  // namespace blkscope::nbd::testing

void* operator new(std::size_t bytes) {
    std::atomic<std::size_t>& largest = blkscope::nbd::testing::largest_allocation;
    if (bytes > largest) largest = bytes;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
