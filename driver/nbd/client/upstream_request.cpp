#include "driver/nbd/client/upstream_request.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <span>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

// The length of a compact request has 32 bits. The limit is a multiple of every block size.
constexpr uint64_t compact_bytes_max = uint64_t{1} << 31;

Command command_of(Buf::Op op) {
    static_assert(op_commands.size() == Buf::op_count);
    assert(op <= Buf::Op::last);
    return op_commands[static_cast<size_t>(op)];
}

uint16_t flags_of(const Buf& buf) {
    uint16_t flags = 0;
    if (buf.fua && !(buf.moved() > 0 && planted("piece-without-fua"))) flags |= command_flag::fua;
    if (buf.op != Buf::Op::write_zeroes) return flags;
    if (buf.no_hole && !planted("no-hole-kept-back")) flags |= command_flag::no_hole;
    if (buf.fast_zero) flags |= command_flag::fast_zero;
    return flags;
}

// A number that the protocol does not have is an I/O error.
int errno_of(uint32_t error) {
    switch (Error{error}) {
        case Error::none:
            return 0;
        case Error::eperm:
            return EPERM;
        case Error::enomem:
            return ENOMEM;
        case Error::einval:
            return EINVAL;
        case Error::enospc:
            return ENOSPC;
        case Error::eoverflow:
            return planted("overflow-unknown") ? EIO : EOVERFLOW;
        case Error::enotsup:
            return EOPNOTSUPP;
        case Error::eshutdown:
            return ESHUTDOWN;
        case Error::eio:
            break;
    }
    return EIO;
}

}  // namespace

bool UpstreamRequest::writes() const {
    return request.type == Command::write || request.type == Command::trim ||
           request.type == Command::write_zeroes;
}

bool UpstreamRequest::is_whole() const {
    assert(buf != nullptr);
    return request.length == buf->bcount;
}

// Each request fits a compact header. The connection that it goes through may be a later one, without
// extended headers.
void UpstreamRequest::begin(Buf& its_buf, uint64_t data_bytes_max) {
    assert(state == State::waiting);
    buf = &its_buf;
    exposed = false;
    const uint64_t most = buf->in_queues() ? data_bytes_max : compact_bytes_max;
    const bool flushes = buf->op == Buf::Op::flush;
    request = {.flags = flags_of(*buf),
               .type = command_of(buf->op),
               .cookie = 0,
               .offset = flushes ? 0 : buf->offset + buf->moved(),
               .length = std::min(buf->resid, most)};
    data = buf->op == Buf::Op::read ? buf->data + buf->moved() : nullptr;
    payload = buf->op == Buf::Op::write ? buf->data + buf->moved() : nullptr;
    extents = buf->op == Buf::Op::block_status ? &buf->extents : nullptr;
    static_cast<UpstreamRange&>(range) = {request.offset, request.length};
    if (!flushes) buf->covers = request.length;
}

void UpstreamRequest::forget_sending() {
    next = nullptr;
    in_send = false;
    if (extents != nullptr) extents->clear();
}

// A list that a hostile server made of overlapping holes is dropped; the data is there anyway.
void UpstreamRequest::list_holes() {
    const auto noted = std::span(holes).first(hole_count);
    std::ranges::sort(noted, {}, &Hole::offset);
    ExtentList& list = buf->extents;
    list.clear();
    uint64_t at = buf->offset;
    const uint64_t end = buf->offset + buf->bcount;
    bool room = true;
    for (const Hole& hole : noted) {
        if (hole.offset < at) return list.clear();
        if (room && hole.offset > at) room = list.append({hole.offset - at, false});
        if (!room) break;
        at = hole.offset;
        room = list.append({hole.bytes, true});
        if (!room) break;
        at += hole.bytes;
    }
    if (room && at < end) room = list.append({end - at, false});
    if (!room) list.end_with_data(end - at);
}

int32_t UpstreamRequest::take_result() {
    assert(buf != nullptr);
    if (error != 0) {
        const int told = errno_of(error);
        const bool may_decline = (request.flags & command_flag::fast_zero) != 0;
        return told == EOPNOTSUPP && !may_decline ? -EIO : -told;
    }
    switch (request.type) {
        case Command::read:
            if (hole_count > 0 && buf->extents.wanted() && request.length == buf->bcount) {
                list_holes();
            }
            return static_cast<int32_t>(request.length);
        case Command::write:
            return static_cast<int32_t>(request.length);
        case Command::block_status:
            // A shorter list is a whole answer, too.
            buf->covers = covered;
            if (covered < buf->resid && !buf->extents.full()) buf->extents.end_here();
            return 0;
        default:
            return 0;
    }
}

UpstreamRequest& UpstreamRequests::acquire() {
    if (free_.empty()) {
        free_.reserve(all_.size() + 1);
        free_.push_back(&all_.emplace_back());
    }
    UpstreamRequest& request = *free_.back();
    free_.pop_back();
    assert(request.state == UpstreamRequest::State::free);
    request.state = UpstreamRequest::State::waiting;
    request.number = ++acquired_;
    return request;
}

void UpstreamRequests::release(UpstreamRequest& request) {
    assert(request.state != UpstreamRequest::State::free);
    request.state = UpstreamRequest::State::free;
    request.buf = nullptr;
    free_.push_back(&request);
}

hrtime_t UpstreamRequests::oldest_sent(hrtime_t now) const {
    hrtime_t oldest = now;
    for (const UpstreamRequest& request : all_) {
        const bool was_sent = request.state == UpstreamRequest::State::sent && request.sent > 0;
        if (was_sent) oldest = std::min(oldest, request.sent);
    }
    return oldest;
}

}  // namespace blkscope::nbd
