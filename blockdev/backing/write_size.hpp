// The sizes for which WriteChoice and UnmapChoice keep means: ranges of a file, classes of writes.
//
// Units:   bytes.
// Threads: pure functions.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace blkscope::write_size {

/// The largest folio of x86-64's page cache. One page of page tables maps as many bytes.
inline constexpr uint64_t range_bytes = uint64_t{2} << 20;

/// The largest write of each class.
inline constexpr std::array<uint64_t, 4> class_bytes_max{4096, 16384, 65536, 131072};
inline constexpr size_t class_count = class_bytes_max.size();
inline constexpr uint64_t bytes_max = class_bytes_max.back();

/// The class of a write of 1 to bytes_max bytes.
constexpr size_t class_of(uint64_t bytes) {
    assert(bytes > 0 && bytes <= bytes_max);
    size_t size_class = 0;
    while (bytes > class_bytes_max[size_class]) ++size_class;
    return size_class;
}

}  // namespace blkscope::write_size
