// MemoryStore: the bytes of a memory backing, all zeroes at first, for any number of workers.
//
// A request is moved stripe by stripe (stripes.hpp), and each stripe as a whole.
//
// Units:     bytes.
// Ownership: owns the memory.
// Threads:   any.
// Errors:    the constructor throws std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/zeroed_pages.hpp"
#include "blockdev/backing/page_set.hpp"
#include "blockdev/backing/stripes.hpp"
#include "blockdev/queue/extent.hpp"

namespace blkscope {

class MemoryStore {
  public:
    explicit MemoryStore(uint64_t size_bytes);
    MemoryStore& operator=(MemoryStore&&) = delete;

    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

    // All ranges lie within the store.
    void read(uint64_t offset, std::span<std::byte> to);
    void write(uint64_t offset, std::span<const std::byte> from);
    /// Writes zeroes, which stay resident.
    void fill(uint64_t offset, uint64_t bytes);
    /// Sets zeroes and returns whole pages to the kernel; at most `empty_bytes_max`.
    void empty(uint64_t offset, uint64_t bytes);
    static constexpr uint64_t empty_bytes_max = Stripes::lock_bytes_max;

    /// The extent from `offset` on, at most `limit` bytes. Pages that were never written are holes.
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) const;

  private:
    template <class Move>
    void by_stripe(uint64_t offset, uint64_t bytes, Move move);
    void give_back(uint64_t first, uint64_t bytes);
    void clear_part(uint64_t offset, uint64_t bytes);

    const uint64_t size_bytes_;
    const ZeroedPages pages_;
    std::byte* const memory_;  // of pages_
    PageSet written_;          // a page outside the set is zeroes, and not resident
    Stripes stripes_;
};

}  // namespace blkscope
