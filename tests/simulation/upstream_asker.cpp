#include "upstream_asker.hpp"

#include <algorithm>
#include <vector>

namespace blkscope::simulation {

using nbd::Command;

void UpstreamAsker::widen(Random& random, const OtherTerms& terms, uint64_t device_bytes) {
    through = !terms.offers(Command::flush);
    if (op == Buf::Op::read && random.one_in(6)) op = Buf::Op::cache;
    if (op == Buf::Op::read && random.one_in(4)) op = Buf::Op::block_status;
    const bool lists = op == Buf::Op::block_status || (op == Buf::Op::read && random.one_in(2));
    if (lists) extents = ExtentList(extent_room);
    if (op == Buf::Op::write_zeroes) {
        no_hole = random.one_in(3);
        fast_zero = random.one_in(4);
    }
    if (op == Buf::Op::flush || random.one_in(16)) return;  // perhaps a part of a block
    const uint64_t block = terms.block_size.minimum;
    offset -= offset % block;
    bcount = std::min((bcount + block - 1) / block * block, device_bytes - offset);
}

nbd::Request UpstreamAsker::asked() const {
    nbd::Request request;
    request.type = nbd::op_commands[static_cast<size_t>(op)];
    request.offset = offset;
    request.length = bcount;
    if (fua) request.flags |= nbd::command_flag::fua;
    if (no_hole) request.flags |= nbd::command_flag::no_hole;
    if (fast_zero) request.flags |= nbd::command_flag::fast_zero;
    return request;
}

std::string UpstreamAsker::check_lists(const OtherTerms& terms, const Oracle& oracle,
                                       hrtime_t now) const {
    if (!extents.wanted()) return {};
    return op == Buf::Op::block_status ? check_status(terms, oracle, now) : check_holes();
}

// The list may end early only if it is full, or says so.
std::string UpstreamAsker::check_status(const OtherTerms& terms, const Oracle& oracle,
                                        hrtime_t now) const {
    std::vector<Oracle::Told> told;
    uint64_t listed = 0;
    for (const Extent& extent : extents.items()) {
        told.push_back({extent.bytes, extent.hole, extent.zero});
        listed += extent.bytes;
    }
    if (told.empty() || listed > bcount) return "block status: no extent, or too long ones";
    if (listed < bcount && !extents.full()) return "block status: bytes are left out";
    if (!terms.allocation) {
        const bool data = told.size() == 1 && !told[0].hole && !told[0].zero;
        return data ? "" : "block status: more than the other server knows";
    }
    const std::string wrong = oracle.check_status(offset, told, made, now);
    return wrong.empty() ? "" : "block status: " + wrong;
}

// An empty list says nothing.
std::string UpstreamAsker::check_holes() const {
    uint64_t at = 0;
    for (const Extent& extent : extents.items()) {
        if (extent.bytes > bcount - at) return "a read's holes: too long";
        const auto first = bytes.begin() + static_cast<ptrdiff_t>(at);
        const bool zero = std::all_of(first, first + static_cast<ptrdiff_t>(extent.bytes),
                                      [](std::byte each) { return each == std::byte{0}; });
        if (extent.hole && !zero) return "a read's holes: there is data in a hole";
        at += extent.bytes;
    }
    return at == 0 || at == bcount ? "" : "a read's holes: bytes are left out";
}

}  // namespace blkscope::simulation
