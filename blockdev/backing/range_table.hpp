// RangeTable: a T for each range of a file (write_size::range_bytes).
//
// All are zeroes at first, and pages of ranges without writes do not become resident. A client can write to every range, so their number is limited. In a larger file, ranges that
// are 128 GiB apart share a T.
//
// Units:     bytes.
// Ownership: owns all.
// Threads:   as for T.
// Errors:    the constructor throws std::bad_alloc.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/zeroed_pages.hpp"
#include "blockdev/backing/write_size.hpp"

namespace blkscope {

template <class T>
class RangeTable {
    static_assert(std::is_trivial_v<T>);  // zeroes are a T

  public:
    static constexpr uint64_t count_max = uint64_t{64} << 10;

    explicit RangeTable(uint64_t file_bytes)
        : count_(std::min(file_bytes / write_size::range_bytes + 1, count_max)),
          pages_(count_ * sizeof(T)),
          ranges_(reinterpret_cast<T*>(pages_.start())) {
        assert(file_bytes > 0);
        if (ranges_ == nullptr) throw std::bad_alloc();
    }

    [[nodiscard]] T& at(uint64_t offset) { return ranges_[index(offset)]; }
    [[nodiscard]] const T& at(uint64_t offset) const { return ranges_[index(offset)]; }

  private:
    [[nodiscard]] size_t index(uint64_t offset) const {
        const uint64_t range = offset / write_size::range_bytes;
        assert(count_ == count_max || range < count_);
        return range % count_max;
    }

    const size_t count_;
    const ZeroedPages pages_;
    T* const ranges_;
};

}  // namespace blkscope
