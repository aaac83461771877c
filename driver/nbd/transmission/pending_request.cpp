#include "driver/nbd/transmission/pending_request.hpp"

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/transmission/reply.hpp"
#include "driver/nbd/transmission/request_rules.hpp"
#include "driver/nbd/transmission/session.hpp"

namespace blkscope::nbd {
namespace {

// A block status lists its extents in its data memory, where its descriptors are written later. A
// read lists its extents in the request, if its client accepts holes.
std::span<Extent> room_for_extents(PendingRequest& request, const Request& header, bool chunked) {
    const bool one_chunk = (header.flags & command_flag::df) != 0;
    if (header.type == Command::block_status && request.data != nullptr) {
        assert(request.held_bytes >= status_bytes);
        const bool one = (header.flags & command_flag::req_one) != 0;
        return {reinterpret_cast<Extent*>(request.data), one ? 1 : status_extents_max};
    }
    if (header.type == Command::read && !one_chunk && chunked) return request.holes;
    return {};
}

}  // namespace

bool PendingRequest::wanted() const {
    assert(session != nullptr);
    return session->is_open();
}

bool PendingRequest::orphaned() {
    assert(session != nullptr);
    return session->is_lost();
}

std::optional<Buf::Op> op_of(Command command) {
    switch (command) {
        case Command::read:
            return Buf::Op::read;
        case Command::write:
            return Buf::Op::write;
        case Command::flush:
            return Buf::Op::flush;
        case Command::trim:
            return Buf::Op::trim;
        case Command::cache:
            return Buf::Op::cache;
        case Command::write_zeroes:
            return Buf::Op::write_zeroes;
        case Command::block_status:
            return Buf::Op::block_status;
        case Command::disc:    // is no request
        case Command::resize:  // not offered
            return std::nullopt;
    }
    return std::nullopt;  // an unknown number
}

uint64_t memory_for(const Request& header) {
    return header.type == Command::block_status ? status_bytes : data_bytes(header);
}

void begin_request(PendingRequest& request, const Request& header, bool chunked) {
    assert((request.data != nullptr) == (request.held_bytes > 0));
    assert(header.type != Command::disc);
    request.cookie = header.cookie;
    request.command = header.type;
    const std::optional<Buf::Op> op = op_of(header.type);
    request.refused = !op.has_value();
    request.queued = request.started = request.finished = request.replied = 0;
    if (op) request.op = *op;
    request.fua = (header.flags & command_flag::fua) != 0 &&
                  (request.op == Buf::Op::write || request.discards());
    request.no_hole = (header.flags & command_flag::no_hole) != 0;
    request.fast_zero = (header.flags & command_flag::fast_zero) != 0;
    request.offset = header.offset;
    request.bcount = header.type == Command::flush ? 0 : header.length;
    if (planted("length-of-32-bits")) request.bcount = static_cast<uint32_t>(request.bcount);
    request.extents = ExtentList(room_for_extents(request, header, chunked));
}

}  // namespace blkscope::nbd
