// UnflushedWrites: whether a server's end loses writes that it has acknowledged.
//
//     acknowledged   acknowledged   flush sent: mark()   acknowledged   flushed(mark)
//          1              2                 2                 3          1 and 2 are stable
//
// Units:     numbers of acknowledgements.
// Ownership: a value.
// Threads:   a single one.
// Errors:    none.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace blkscope::nbd {

class UnflushedWrites {
  public:
    /// A write was acknowledged, and need not be stable.
    void acknowledged() { ++acknowledged_; }

    /// For flushed(), when the flush is sent.
    [[nodiscard]] uint64_t mark() const { return acknowledged_; }
    /// A flush has succeeded that was sent at the mark.
    void flushed(uint64_t mark) {
        assert(mark <= acknowledged_);
        stable_ = std::max(stable_, mark);
    }

    [[nodiscard]] bool any() const { return acknowledged_ > stable_; }

    /// The server may have lost its memory. Nothing of before is unflushed any more.
    void forget() { stable_ = acknowledged_; }

  private:
    uint64_t acknowledged_ = 0;
    uint64_t stable_ = 0;
};

}  // namespace blkscope::nbd
