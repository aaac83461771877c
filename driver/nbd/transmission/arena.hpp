// Arena: the memory for requests' data, all of it reserved at start.
//
//     | 4 KiB slots | 32 KiB slots | 128 KiB slots | runs of 1 MiB granules |
//
// A request takes one piece of the smallest class that is large enough. The last class gives runs
// of adjacent granules. Every piece is contiguous and page-aligned, as O_DIRECT needs it.
//
// Pages become resident when they are first used. The slot that was freed last is used next, so a
// server with little load uses little memory.
//
// Units:     bytes.
// Ownership: the arena owns the memory; acquire() lends a piece until release().
// Threads:   the worker's.
// Errors:    the constructor throws std::system_error; a full class gives nullptr.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/zeroed_pages.hpp"

namespace blkscope {

class Arena {
  public:
    static constexpr size_t granule_bytes = size_t{1} << 20;
    static constexpr size_t granules = 64;
    static constexpr size_t slot_bytes_max = size_t{128} << 10;
    static constexpr size_t piece_bytes_max = granule_bytes * granules;

    Arena();
    Arena& operator=(Arena&&) = delete;

    /// A piece of at least `bytes` (1 .. piece_bytes_max), or nullptr if its class has none free.
    std::byte* acquire(size_t bytes);

    /// Takes back a piece that acquire(bytes) gave.
    void release(std::byte* piece, size_t bytes);

    [[nodiscard]] bool idle() const { return pieces_out_ == 0; }
    /// Pages may be resident: a piece was acquired since the last give_back_pages().
    [[nodiscard]] bool touched() const { return touched_; }
    /// Returns all pages to the system. Call only while idle(). The addresses stay reserved.
    void give_back_pages();

  private:
    struct Class {
        size_t slot_bytes;
        size_t slots;
        std::vector<std::byte*> free;
    };

    Class* class_of(size_t bytes);
    std::byte* acquire_from(size_t bytes);
    std::byte* acquire_run(size_t count);

    std::array<Class, 3> classes_;
    const ZeroedPages memory_;
    std::byte* runs_ = nullptr;
    uint64_t granules_used_ = 0;  // a bit for each granule
    size_t pieces_out_ = 0;
    bool touched_ = false;
};

}  // namespace blkscope
