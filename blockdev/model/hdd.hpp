// Hdd: the times of a disk with one head, which has to get to the data before it reads or writes.
//
//     time = seek + rotation + transfer
//
//     seek       SEEK_MIN + (SEEK_FULL - SEEK_MIN) * sqrt(distance / size); none within 1 MiB
//     rotation   uniform in 0 to one turn of the platter
//     transfer   bytes / RATE
//
// The head is where the last request ended. A request that begins there has only the transfer. Two
// seeks in a row share an end, so the times are not independent. Open queues differ from the
// formula of Pollaczek and Khinchine by up to 1 % because of this.
//
// Units:     nanoseconds, bytes.
// Ownership: a value.
// Threads:   one at a time; the head moves with each call of draw_ns().
// Errors:    parse() throws std::invalid_argument with one line.
// Source:    the square root: Ruemmler and Wilkes, An introduction to disk drive modeling, 1994.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "blockdev/model/draws.hpp"
#include "blockdev/model/grammar.hpp"

namespace blkscope::model {

/// `hdd:RPM:SEEK_MIN:SEEK_FULL:RATE`.
struct HddShape {
    uint64_t rpm = 0;
    Time seek_min;
    Time seek_full;
    uint64_t rate = 0;  // bytes per second

    static HddShape parse(std::string_view arguments);
    [[nodiscard]] std::string text() const;

    friend bool operator==(const HddShape&, const HddShape&) = default;
};

class Hdd {
  public:
    static constexpr uint64_t near_bytes = uint64_t{1} << 20;  // no seek below this distance

    /// A disk of `size_bytes`, with the head at its begin.
    Hdd(const HddShape& shape, uint64_t size_bytes);

    /// The time of one read or write, which moves the head.
    double draw_ns(uint64_t offset, uint64_t bytes, Draws& draws);

    /// The byte behind the last request.
    [[nodiscard]] uint64_t head() const { return head_; }
    /// Puts the head there, at most at the end of the disk.
    void set_head(uint64_t byte);

  private:
    HddShape shape_;
    double size_bytes_;
    uint64_t head_ = 0;  // the byte behind the last request
};

}  // namespace blkscope::model
