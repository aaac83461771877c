// RangeTable: a T for each range of a file (write_size::range_bytes).
//
// All are zeroes at first. The memory comes from calloc(3), so pages of ranges without writes do not
// become resident.
//
// Units:     bytes.
// Ownership: owns all.
// Threads:   as for T.
// Errors:    the constructor throws std::bad_alloc.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "blockdev/backing/write_size.hpp"

namespace blkscope {

template <class T>
class RangeTable {
    static_assert(std::is_trivial_v<T>);  // zeroes are a T

  public:
    explicit RangeTable(uint64_t file_bytes)
        : count_(file_bytes / write_size::range_bytes + 1),
          ranges_(static_cast<T*>(std::calloc(count_, sizeof(T)))) {
        assert(file_bytes > 0);
        if (ranges_ == nullptr) throw std::bad_alloc();
    }

    [[nodiscard]] T& at(uint64_t offset) {
        assert(offset / write_size::range_bytes < count_);
        return ranges_[offset / write_size::range_bytes];
    }
    [[nodiscard]] const T& at(uint64_t offset) const {
        assert(offset / write_size::range_bytes < count_);
        return ranges_[offset / write_size::range_bytes];
    }

  private:
    struct Freed {
        void operator()(T* ranges) const { std::free(ranges); }
    };

    size_t count_;
    std::unique_ptr<T[], Freed> ranges_;
};

}  // namespace blkscope
