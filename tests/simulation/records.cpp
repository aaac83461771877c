#include "records.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "other_terms.hpp"

namespace blkscope::simulation {
namespace {

using nbd::Command;
using nbd::Error;

trace::Op recorded_op(Command command) {
    switch (command) {
        case Command::read:
            return trace::Op::read;
        case Command::write:
            return trace::Op::write;
        case Command::flush:
            return trace::Op::flush;
        case Command::trim:
            return trace::Op::trim;
        case Command::cache:
            return trace::Op::cache;
        case Command::write_zeroes:
            return trace::Op::write_zeroes;
        case Command::block_status:
            return trace::Op::block_status;
        case Command::disc:
        case Command::resize:
            break;
    }
    assert(false);  // has no answer that is recorded
    return trace::Op::read;
}

// FUA counts only where something is written.
uint8_t flags_of(const nbd::Request& request) {
    const auto bit = [&](uint16_t flag, uint8_t recorded) {
        return (request.flags & flag) != 0 ? recorded : uint8_t{0};
    };
    return static_cast<uint8_t>(
        (changes(request.type) ? bit(nbd::command_flag::fua, trace::flag::fua) : 0) |
        bit(nbd::command_flag::no_hole, trace::flag::no_hole) |
        bit(nbd::command_flag::fast_zero, trace::flag::fast_zero));
}

std::string compare(const Answer& answer, const trace::Request& record, hrtime_t wrong_ns_max) {
    const nbd::Request& request = answer.request;
    if (record.op != recorded_op(request.type)) return "with another operation";
    if (record.offset != request.offset || record.bytes != request.length) {
        return "with " + std::to_string(record.bytes) + " bytes at " +
               std::to_string(record.offset) + ", and asked for " + std::to_string(request.length) +
               " at " + std::to_string(request.offset);
    }
    if (record.flags != flags_of(request)) return "with other flags";
    if (documented_error(record.error) != answer.error) {
        return "with error " + std::to_string(record.error) + ", and answered with " +
               std::to_string(static_cast<uint32_t>(answer.error));
    }
    if (record.received < answer.made - wrong_ns_max) return "before it was sent";
    if (record.finished > answer.answered + wrong_ns_max) return "as longer than it was";
    // The server may not know that its last reply was sent.
    const bool replied = record.replied == 0 || record.finished <= record.replied;
    const bool in_order = record.received <= record.queued && record.queued <= record.started &&
                          record.started <= record.finished && replied;
    return in_order ? "" : "with times out of order";
}

}  // namespace

Error documented_error(int error_number) {
    switch (error_number) {
        case 0:
            return Error::none;
        case EPERM:
        case EACCES:
        case EROFS:
            return Error::eperm;
        case ENOMEM:
            return Error::enomem;
        case EINVAL:
        case EDOM:
        case ERANGE:
        case E2BIG:
            return Error::einval;
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return Error::enospc;
        case EOVERFLOW:
            return Error::eoverflow;
        case EOPNOTSUPP:
            return Error::enotsup;
        case ESHUTDOWN:
            return Error::eshutdown;
        default:
            return Error::eio;
    }
}

std::string check_records(std::vector<Answer> answers, std::span<const trace::Request> records,
                          hrtime_t wrong_ns_max) {
    const auto cookie_of = [](const Answer& answer) { return answer.request.cookie; };
    std::ranges::sort(answers, {}, cookie_of);
    std::vector<bool> recorded(answers.size());
    for (const trace::Request& record : records) {
        const auto found = std::ranges::lower_bound(answers, record.cookie, {}, cookie_of);
        if (found == answers.end() || found->request.cookie != record.cookie) continue;
        const std::string wrong = compare(*found, record, wrong_ns_max);
        if (!wrong.empty())
            return std::string("a ") + trace::name_of(record.op) + " is recorded " + wrong;
        auto seen = recorded.begin() + (found - answers.begin());
        if (*seen) return "a request is recorded twice";
        *seen = true;
    }
    return std::ranges::count(recorded, false) == 0 ? "" : "an answered request is not recorded";
}

}  // namespace blkscope::simulation
