#include "blockdev/device/extents.hpp"

#include <cassert>

#include "base/clock.hpp"

namespace blkscope {
namespace {

// The time for one request and turn. A badly fragmented file has a million extents, and other
// clients must not wait for all of them.
constexpr hrtime_t list_ns_max = 100'000;

// A shorter read is cheaper than the look-up, which is a system call.
constexpr uint64_t hole_read_bytes_min = uint64_t{64} << 10;

}  // namespace

// If the list has no more room, the request ends early with a resid, which is no error.
std::optional<int32_t> list_extents(Buf& buf, Backing& backing, Ring& ring) {
    assert(buf.op == Buf::Op::block_status && buf.extents.wanted());
    ring.unlock();
    const hrtime_t began = ring.now();
    uint64_t listed = 0;
    bool room = true;
    bool time = true;
    while (room && time && listed < buf.resid) {
        const Extent extent =
            backing.extent_at(buf.offset + buf.moved() + listed, buf.resid - listed);
        assert(extent.bytes > 0 && extent.bytes <= buf.resid - listed);
        room = buf.extents.append(extent);
        if (room) listed += extent.bytes;
        time = to_ns(ring.now() - began) < list_ns_max;
    }
    assert(listed <= buf.resid);
    buf.covers = listed;
    if (!room || listed == buf.resid) return 0;
    ring.completed_later(buf, 0);
    return std::nullopt;
}

bool reads_only_holes(Buf& buf, Backing& backing, Ring& ring) {
    assert(buf.op == Buf::Op::read);
    if (!buf.extents.wanted() || buf.bcount < hole_read_bytes_min || !backing.sparse() ||
        buf.moved() > 0) {
        return false;
    }
    ring.unlock();
    buf.extents.clear();
    uint64_t listed = 0;
    while (listed < buf.bcount) {
        const Extent extent = backing.extent_at(buf.offset + listed, buf.bcount - listed);
        assert(extent.bytes > 0 && extent.bytes <= buf.bcount - listed);
        if (!buf.extents.append(extent)) break;
        listed += extent.bytes;
    }
    if (listed < buf.bcount) buf.extents.end_with_data(buf.bcount - listed);
    const auto extents = buf.extents.items();
    assert(!extents.empty());
    return extents.size() == 1 && extents.front().hole;
}

}  // namespace blkscope
