// CounterPages: counters in memory that uses no page until the first of them counts.
//
//     constructed   all zero, no page resident        one mapping, 4 KiB pages
//     written       the pages that were written to    a counter in use keeps its page
//     cleared       all zero, no page resident        the kernel takes the pages back
//
// A server of many exports has many counters of devices without clients. On the heap each of them
// would use memory as soon as it is set to zero.
//
// Units:     bytes.
// Ownership: owns the mapping. Its contents need no construction and no destruction.
// Threads:   no thread may write during clear(). Readers may read: they get a number's old value or
//            0.
// Errors:    the constructor throws std::bad_alloc.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>

#include "base/zeroed_pages.hpp"

namespace blkscope {

/// One T whose bytes are all zero at first.
template <class T>
class CounterPages {
    static_assert(std::is_trivially_default_constructible_v<T>, "a constructor would write");
    static_assert(std::is_trivially_destructible_v<T>);

  public:
    CounterPages() : pages_(sizeof(T)), counters_(reinterpret_cast<T*>(pages_.start())) {
        if (counters_ == nullptr) throw std::bad_alloc();
    }

    [[nodiscard]] T& operator*() { return *counters_; }
    [[nodiscard]] const T& operator*() const { return *counters_; }

    /// Sets all counters to zero, and returns their pages to the kernel.
    void clear() {
        // The kernel keeps pages that are locked in memory; then zeroes are written instead.
        if (!pages_.drop_all()) std::memset(pages_.start(), 0, sizeof(T));
    }

  private:
    const ZeroedPages pages_;
    T* const counters_;
};

}  // namespace blkscope
