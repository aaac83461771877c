#include "driver/nbd/transmission/request_rules.hpp"

#include <cassert>
#include <cerrno>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

bool writes(Command command) {
    return command == Command::write || command == Command::trim ||
           command == Command::write_zeroes;
}

// True for a range that does not lie within `size` bytes. The comparison has no sum that could
// wrap.
bool outside(uint64_t offset, uint64_t length, uint64_t size) {
    return offset > size || length > size - offset;
}

}  // namespace

// A write brings its data whether or not it has the flag that an extended write must have. QEMU's
// client never sets the flag (seen in 10.0), and QEMU's server takes such writes.
uint64_t RequestRules::payload_bytes(const Request& header) const {
    if (header.type == Command::write) return header.length;
    const bool flagged = (header.flags & command_flag::payload_len) != 0;
    return terms.replies == ReplyForm::extended && flagged ? header.length : 0;
}

// The order of checks is that of other servers. A request with several faults then gets the same
// error from all.
int RequestRules::refusal(const Request& header) const {
    if (data_bytes(header) > payload_bytes_max) return EINVAL;
    const bool may_trim = planted("read-only-trims") && header.type == Command::trim;
    if (writes(header.type) && read_only && !may_trim) return EPERM;
    if (const int error = refusal_of_range(header)) return error;
    return refusal_of_flags(header);
}

int RequestRules::refusal_of_range(const Request& header) const {
    switch (header.type) {
        case Command::read:
        case Command::write:
        case Command::trim:
        case Command::cache:
        case Command::write_zeroes:
        case Command::block_status:
            return refusal_within(header);
        case Command::flush:
            return header.offset != 0 || header.length != 0 ? EINVAL : 0;
        case Command::disc:    // has no reply and never comes here
        case Command::resize:  // not offered
            return EINVAL;
    }
    return EINVAL;  // an unknown number
}

// Refuses a range that is empty or does not lie within the export.
int RequestRules::refusal_within(const Request& header) const {
    if (outside(header.offset, header.length, size_bytes)) {
        const bool grows = header.type == Command::write || header.type == Command::write_zeroes;
        return grows ? ENOSPC : EINVAL;
    }
    // The kernel is known to send an empty trim, which succeeds.
    return header.length == 0 && header.type != Command::trim ? EINVAL : 0;
}

// FUA is allowed on every command, because some clients always set it. Commands that write nothing
// ignore FUA.
uint16_t RequestRules::allowed_flags(Command command) const {
    const bool chunked = terms.replies != ReplyForm::simple;
    const bool extended = terms.replies == ReplyForm::extended;
    switch (command) {
        case Command::read:
            return chunked ? command_flag::fua | command_flag::df : command_flag::fua;
        case Command::write:
            return extended ? command_flag::fua | command_flag::payload_len : command_flag::fua;
        case Command::write_zeroes:
            return command_flag::fua | command_flag::no_hole | command_flag::fast_zero;
        case Command::block_status:
            return command_flag::fua | command_flag::req_one;
        case Command::flush:
        case Command::trim:
        case Command::cache:
        case Command::disc:
        case Command::resize:
            return command_flag::fua;
    }
    return command_flag::fua;  // an unknown number, which refusal_of_range() has refused
}

int RequestRules::refusal_of_flags(const Request& header) const {
    if ((header.flags & ~allowed_flags(header.type)) != 0) return EINVAL;
    return header.type == Command::block_status && !terms.allocation ? EINVAL : 0;
}

bool has_status_payload(const Request& header, ReplyForm form) {
    return form == ReplyForm::extended && header.type == Command::block_status &&
           (header.flags & command_flag::payload_len) != 0 && header.length == status_payload_bytes;
}

Result<Request> with_status_payload(const Request& header,
                                    std::span<const std::byte, status_payload_bytes> payload) {
    assert(header.type == Command::block_status);
    assert(header.length == status_payload_bytes);
    if (load_be<uint32_t>(payload.subspan<8, 4>()) != base_allocation_id) return os_error(EINVAL);
    Request request = header;
    request.flags &= static_cast<uint16_t>(~command_flag::payload_len);
    request.length = load_be<uint64_t>(payload.first<8>());
    return request;
}

}  // namespace blkscope::nbd
