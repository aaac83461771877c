// Extents: which runs of a device's bytes have data and which are holes, which read as zeroes.
//
// Units:     bytes.
// Ownership: a list borrows its memory.
// Threads:   none of its own.
// Errors:    none.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>

namespace blkscope {

/// A run of bytes with one status. Where a backing has no information it reports data, which is
/// always safe. A hole reads as zeroes, unless another server says otherwise. Its allocated zeroes
/// are no hole.
struct Extent {
    uint64_t bytes = 0;
    bool hole = false;
    bool zero = hole;

    friend bool operator==(const Extent&, const Extent&) = default;
    [[nodiscard]] bool has_status_of(const Extent& other) const {
        return hole == other.hole && zero == other.zero;
    }
};

/// Adjacent extents in the caller's memory. Neighbours with the same status are merged.
class ExtentList {
  public:
    ExtentList() = default;
    explicit ExtentList(std::span<Extent> memory) : memory_(memory) {}

    /// False if there is no room for the extent, which ends the list.
    bool append(const Extent& extent) {
        assert(extent.bytes > 0);
        assert(count_ <= memory_.size());
        if (count_ > 0 && memory_[count_ - 1].has_status_of(extent)) {
            assert(extent.bytes <= UINT64_MAX - memory_[count_ - 1].bytes);
            memory_[count_ - 1].bytes += extent.bytes;
        } else if (count_ < memory_.size()) {
            memory_[count_++] = extent;
        } else {
            full_ = true;
        }
        return !full_;
    }

    /// Turns the last extent into data and makes it longer by `more_bytes`.
    void end_with_data(uint64_t more_bytes) {
        assert(count_ > 0);
        assert(full_);
        assert(more_bytes > 0);
        memory_[count_ - 1] = {memory_[count_ - 1].bytes + more_bytes, false};
        full_ = false;
    }

    /// Nothing is known of the bytes behind the last extent; the list ends there.
    void end_here() {
        assert(count_ > 0);
        full_ = true;
    }

    void clear() {
        count_ = 0;
        full_ = false;
    }

    [[nodiscard]] bool full() const { return full_; }
    /// Whether the caller asked for extents.
    [[nodiscard]] bool wanted() const { return !memory_.empty(); }
    [[nodiscard]] std::span<const Extent> items() const {
        assert(count_ <= memory_.size());
        return memory_.first(count_);
    }

  private:
    std::span<Extent> memory_;
    uint32_t count_ = 0;
    bool full_ = false;
};

}  // namespace blkscope
