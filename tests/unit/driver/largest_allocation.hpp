// Watches `operator new` in the whole test program, for tests that limit memory.
#pragma once

#include <atomic>
#include <cstddef>

namespace blkscope::nbd::testing {

/// The largest single allocation, in bytes, since a test last set this to zero.
extern std::atomic<size_t> largest_allocation;

}  // namespace blkscope::nbd::testing
