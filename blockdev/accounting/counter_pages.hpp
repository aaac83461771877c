// CounterPages: counters in memory that uses no page until the first of them counts.
//
//     constructed   all zero, no page resident        one mapping, 4 KiB pages
//     written       the pages that were written to    a counter in use keeps its page
//     cleared       all zero, no page resident        the kernel takes the pages back
//
// A server of many exports has many counters of devices without clients. On the heap each of them
// would use memory as soon as it is set to zero. In this mapping the kernel reads zeroes from one
// shared page, and allocates a page at the first write. Huge pages are switched off: a single
// counter would make 2 MiB resident.
//
// Units:     bytes.
// Ownership: owns the mapping. Its contents need no construction and no destruction.
// Threads:   no thread may write during clear(). Readers may read: they get a number's old value or
//            0.
// Errors:    the constructor throws std::bad_alloc.
// Source:    mmap(2), madvise(2); of MADV_DONTNEED: "zero-fill-on-demand pages".
#pragma once

#include <cstddef>
#include <type_traits>

namespace blkscope {

/// The memory of the counters, without their type.
class CounterMapping {
  public:
    explicit CounterMapping(size_t size_bytes);
    ~CounterMapping();
    CounterMapping& operator=(CounterMapping&&) = delete;

    [[nodiscard]] void* start() const { return start_; }
    void clear();

  private:
    const size_t size_bytes_;
    void* const start_;
};

/// One T whose bytes are all zero at first.
template <class T>
class CounterPages {
    static_assert(std::is_trivially_default_constructible_v<T>, "a constructor would write");
    static_assert(std::is_trivially_destructible_v<T>);

  public:
    CounterPages() : mapping_(sizeof(T)) {}

    [[nodiscard]] T& operator*() { return *counters_; }
    [[nodiscard]] const T& operator*() const { return *counters_; }

    /// Sets all counters to zero, and returns their pages to the kernel.
    void clear() { mapping_.clear(); }

  private:
    CounterMapping mapping_;
    T* const counters_ = static_cast<T*>(mapping_.start());
};

}  // namespace blkscope
