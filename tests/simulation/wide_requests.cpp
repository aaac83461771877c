#include "wide_requests.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope::simulation {
namespace {

using nbd::Command;

constexpr uint64_t compact_bytes = uint64_t{1} << 32;       // of a length, the limit not included
constexpr uint64_t compact_extent_bytes_min = 0xffff'0000;  // of one that was shortened
constexpr size_t extents_max = 256;                         // of an answer
constexpr uint64_t blocks_near = 8;

bool zeroes(const nbd::Request& request) {
    return request.type == Command::write_zeroes;
}

}  // namespace

WideRequests::WideRequests(Random random, uint64_t first_byte, uint64_t end_byte,
                           const WidePlan& plan)
    : random_(random), first_byte_(first_byte), end_byte_(end_byte), plan_(plan) {
    assert(first_byte < end_byte);
    const uint64_t half = uint64_t{1} << 31;
    for (const uint64_t place : {first_byte, half, 2 * half, 3 * half, 4 * half, half << 9,
                                 half << 10, 3 * half << 9, end_byte}) {
        if (place >= first_byte && place <= end_byte) marks_.push_back(place);
    }
}

void WideRequests::change(nbd::Request& request) {
    if (request.length == 0) return;
    if (may_be_long(request) && random_.one_in(request.type == Command::block_status ? 2 : 5)) {
        return lengthen(request);
    }
    if (!random_.one_in(4)) request.offset = near(mark(), request.length);
}

// The place of a range of this length that begins at the mark, ends there, or is near.
uint64_t WideRequests::near(uint64_t mark, uint64_t length) {
    const uint64_t block = plan_.block_bytes;
    const uint64_t back = random_.one_in(3) ? (random_.one_in(2) ? 0 : length)
                                            : random_.below(length / block + blocks_near) * block;
    const uint64_t ahead = back > 0 ? 0 : random_.below(blocks_near) * block;
    const uint64_t begin = mark - std::min(mark, back) + (random_.one_in(2) ? ahead : 0);
    return std::clamp(begin, first_byte_, end_byte_ - length);
}

bool WideRequests::may_be_long(const nbd::Request& request) const {
    switch (request.type) {
        case Command::cache:
        case Command::block_status:
            return true;
        case Command::trim:
            return plan_.punches;
        case Command::write_zeroes: {
            const bool keeps = (request.flags & nbd::command_flag::no_hole) != 0;
            return keeps ? plan_.zeroes_in_place : plan_.punches;
        }
        default:
            return false;
    }
}

// From one mark to another, or of a length that has no bit, or only few, below the 32nd.
void WideRequests::lengthen(nbd::Request& request) {
    const uint64_t block = plan_.block_bytes;
    const uint64_t most = end_byte_ - first_byte_;
    uint64_t length = 0;
    if (plan_.extended && most >= compact_bytes && random_.one_in(3)) {
        length = compact_bytes * random_.between(1, std::min<uint64_t>(most / compact_bytes, 4));
        length = std::min(length + random_.below(3) * block, most);
        request.offset = near(mark(), length);
    } else {
        const uint64_t one = near(mark(), block);
        const uint64_t other = near(mark(), block);
        length = std::max(one, other) - std::min(one, other) + block;
        request.offset = std::min(one, other);
    }
    if (!plan_.extended) length = std::min(length, compact_bytes - block);
    request.length = length;
    assert(request.offset >= first_byte_ && length <= end_byte_ - request.offset);
    // Zeroes that a fallocate(2) could not make would be written, which takes a million operations.
    assert(!zeroes(request) || plan_.punches || plan_.zeroes_in_place);
}

void WideRequests::misplace(nbd::Request& request) {
    const uint64_t block = plan_.block_bytes;
    if (plan_.extended && random_.one_in(2)) {
        request.offset = first_byte_;
        request.length = (end_byte_ / compact_bytes + 1) * compact_bytes + block;
        return;
    }
    request.offset = end_byte_ - random_.between(1, blocks_near) * block;
    request.length = compact_bytes - block * random_.between(1, blocks_near);
}

std::string check_reach(const Oracle& oracle, const nbd::Request& request,
                        std::span<const Oracle::Told> told, bool extended) {
    assert(!told.empty());
    uint64_t bytes = 0;
    for (const Oracle::Told& extent : told) bytes += extent.bytes;
    if (bytes == request.length || told.size() >= extents_max) return {};
    if (!extended && told.back().bytes >= compact_extent_bytes_min) return {};
    const std::string where =
        "ends after " + std::to_string(bytes) + " of " + std::to_string(request.length) + " bytes";
    if ((request.flags & nbd::command_flag::req_one) == 0) return where;
    const uint64_t next = request.offset + bytes;
    const bool both = oracle.is_untouched(next - 1) && oracle.is_untouched(next);
    return both ? where + ", within a hole" : "";
}

}  // namespace blkscope::simulation
