// WideRequests: requests to a disk beyond 4 GiB, where numbers of 31, 32 or more bits end.
//
//     0           2^31        2^32         3 * 2^31        ...          end
//     |            ^           ^              ^                          ^
//        begin there, end there, or cross it: [--|--]  [--|     |--]
//        or begin near one and end near another:  [--------------]
//
// Long requests are trims, zeroes, read-ahead and block statuses. The simple and the structured form have lengths
// up to 4 GiB less a block, the extended form any.
//
// Units: bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/nbd/protocol.hpp"
#include "oracle.hpp"
#include "random.hpp"

namespace blkscope::simulation {

/// A disk that is larger than this is wide.
inline constexpr uint64_t wide_bytes_min = uint64_t{1} << 30;

struct WidePlan {
    bool punches = false;          // trims and zeroes that leave holes cost the same at any length
    bool zeroes_in_place = false;  // and so do those that leave none
    bool extended = false;         // the form of requests
    uint64_t block_bytes = 512;
};

class WideRequests {
  public:
    /// The range of the disk that the requests may have.
    WideRequests(Random random, uint64_t first_byte, uint64_t end_byte, const WidePlan& plan);

    /// Gives most requests another place, and some another length.
    void change(nbd::Request& request);
    /// Gives a request a place and a length that do not fit the disk, but would in 32 bits.
    void misplace(nbd::Request& request);

  private:
    [[nodiscard]] uint64_t mark() { return marks_[random_.below(marks_.size())]; }
    [[nodiscard]] bool may_be_long(const nbd::Request& request) const;
    void lengthen(nbd::Request& request);
    uint64_t near(uint64_t mark, uint64_t length);

    Random random_;
    const uint64_t first_byte_;
    const uint64_t end_byte_;
    const WidePlan plan_;
    std::vector<uint64_t> marks_;
};

/// The error in the length of a block status's answer. It ends early only if it has no more room, if a
/// length has no more bits, or if one extent was asked for and another status follows.
std::string check_reach(const Oracle& oracle, const nbd::Request& request,
                        std::span<const Oracle::Told> told, bool extended);

}  // namespace blkscope::simulation
