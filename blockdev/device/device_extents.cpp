// What a device knows of its holes: block status, and reads that find nothing but zeroes.

#include <kstat/clock.hpp>

#include "blockdev/device/device.hpp"

namespace blkscope {
namespace {

// Of the worker's time, for one request and turn: a badly fragmented file has a million extents,
// and the other clients do not wait for them.
constexpr hrtime_t list_ns_max = 100'000;

// A shorter read is cheaper to do than to ask about: a look-up is a system call.
constexpr uint64_t hole_read_bytes_min = uint64_t{64} << 10;

}  // namespace

// One share of a list; the rest comes in the next turn. It ends early when the list has no more
// room, which leaves a resid and is no error.
void Device::list_extents(Buf& buf) {
    Lane& lane = *buf.lane;
    lane.ring_.let_go();
    const hrtime_t began = kstat::now_unscaled();
    uint64_t listed = 0;
    bool room = true;
    bool time = true;
    while (room && time && listed < buf.resid) {
        const Extent extent =
            lane.backing_->extent_at(buf.offset + buf.moved() + listed, buf.resid - listed);
        room = buf.extents.append(extent);
        if (room) listed += extent.bytes;
        time = kstat::to_ns(kstat::now_unscaled() - began) < list_ns_max;
    }
    buf.covers = listed;
    if (room && listed < buf.resid) return lane.ring_.completed_later(buf, 0);
    lane.ring_.completed(buf, 0);
}

// Finds out what of a read is holes, if its caller can pass that on. True if all of it is: there is
// nothing to read then. A read with more extents than its list holds is read whole from there on.
bool Device::reads_only_holes(Buf& buf) {
    Lane& lane = *buf.lane;
    if (!buf.extents.wanted() || buf.bcount < hole_read_bytes_min || !lane.backing_->sparse() ||
        buf.moved() > 0) {
        return false;
    }
    lane.ring_.let_go();
    buf.extents.clear();
    uint64_t listed = 0;
    while (listed < buf.bcount) {
        const Extent extent = lane.backing_->extent_at(buf.offset + listed, buf.bcount - listed);
        if (!buf.extents.append(extent)) break;
        listed += extent.bytes;
    }
    if (listed < buf.bcount) buf.extents.end_with_data(buf.bcount - listed);
    const auto extents = buf.extents.items();
    return extents.size() == 1 && extents.front().hole;
}

}  // namespace blkscope
