// MemoryStore: the bytes of a memory backing, all zeroes at first, for as many workers as want
// them.
//
// A request is moved stripe by stripe (stripes.hpp), each of them whole.
//
// Units:     bytes.
// Ownership: owns the memory.
// Threads:   any.
// Errors:    the constructor throws std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blockdev/backing/page_set.hpp"
#include "blockdev/backing/stripes.hpp"
#include "blockdev/queue/extent.hpp"

namespace blkscope {

class MemoryStore {
  public:
    explicit MemoryStore(uint64_t size_bytes);
    ~MemoryStore();
    MemoryStore(const MemoryStore&) = delete;
    MemoryStore& operator=(const MemoryStore&) = delete;

    [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

    // Ranges lie within the store.
    void read(uint64_t offset, std::span<std::byte> to);
    void write(uint64_t offset, std::span<const std::byte> from);
    /// Writes zeroes, which stay resident.
    void fill(uint64_t offset, uint64_t bytes);
    /// Leaves zeroes and gives whole pages back to the system; `empty_bytes_max` at most.
    void empty(uint64_t offset, uint64_t bytes);
    static constexpr uint64_t empty_bytes_max = Stripes::lock_bytes_max;

    /// Whether `offset` lies in a hole, and how far that, or the data, goes; `limit` at most.
    [[nodiscard]] Extent extent_at(uint64_t offset, uint64_t limit) const;

  private:
    template <class Move>
    void by_stripe(uint64_t offset, uint64_t bytes, Move move);
    void give_back(uint64_t first, uint64_t bytes);
    void clear_part(uint64_t offset, uint64_t bytes);

    uint64_t size_bytes_;
    std::byte* memory_ = nullptr;
    PageSet written_;  // a page that is not in it is zeroes, and not there
    Stripes stripes_;
};

}  // namespace blkscope
