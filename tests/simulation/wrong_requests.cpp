#include "wrong_requests.hpp"

#include <cassert>
#include <iterator>

#include "other_terms.hpp"

namespace blkscope::simulation {
namespace {

using nbd::Command;
using nbd::Error;
using nbd::ReplyForm;
namespace command_flag = nbd::command_flag;

constexpr uint64_t payload_bytes_max = 4096;
constexpr uint64_t data_never_taken = uint64_t{64} << 20;  // of any request
constexpr uint64_t data_never_skipped = uint64_t{128} << 20;

constexpr Command with_range[] = {Command::read,  Command::write,        Command::trim,
                                  Command::cache, Command::write_zeroes, Command::block_status};

Command draw_command(Random& random, const Terms& terms) {
    const Command command = with_range[random.below(std::size(with_range))];
    return command == Command::block_status && terms.form == ReplyForm::simple ? Command::read
                                                                               : command;
}

void put_number(std::vector<std::byte>& to, uint64_t number, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) to.push_back(static_cast<std::byte>(number >> (8 * i)));
}

// The data of a write follows whatever else is wrong.
WrongRequest wrong(const nbd::Request& request, Error error, const Terms& terms) {
    WrongRequest made;
    made.request = request;
    made.error = terms.read_only && changes(request.type) ? Error::eperm : error;
    if (request.type == Command::write) made.payload.resize(request.length);
    return made;
}

nbd::Request within(Random& random, const Terms& terms, Command command) {
    nbd::Request request;
    request.type = command;
    const uint64_t blocks = terms.data_bytes_max / terms.block_bytes;
    request.length = random.between(1, blocks) * terms.block_bytes;
    return request;
}

WrongRequest draw_outside(Random& random, const Terms& terms) {
    nbd::Request request = within(random, terms, draw_command(random, terms));
    switch (random.below(4)) {
        case 0:  // begins within
            request.offset = terms.bytes - request.length + terms.block_bytes;
            break;
        case 1:
            request.offset = terms.bytes;
            break;
        case 2:  // the sum of offset and length wraps
            request.offset = UINT64_MAX - request.length + 1;
            break;
        default:
            request.offset = terms.bytes + (uint64_t{1} << random.between(32, 62));
            break;
    }
    const bool grows = request.type == Command::write || request.type == Command::write_zeroes;
    return wrong(request, grows ? Error::enospc : Error::einval, terms);
}

// An empty trim is allowed.
WrongRequest draw_empty(Random& random, const Terms& terms) {
    nbd::Request request = within(random, terms, draw_command(random, terms));
    if (request.type == Command::trim) request.type = Command::write_zeroes;
    request.length = 0;
    return wrong(request, Error::einval, terms);
}

WrongRequest draw_flush(Random& random, const Terms& terms) {
    nbd::Request request;
    request.type = Command::flush;
    (random.one_in(2) ? request.offset : request.length) = random.between(1, 4096);
    return wrong(request, Error::einval, terms);
}

WrongRequest draw_unknown(Random& random, const Terms& terms) {
    nbd::Request request = within(random, terms, Command::read);
    request.type = random.one_in(2) ? Command::resize : Command(random.between(9, 65535));
    return wrong(request, Error::einval, terms);
}

// The flags that a client may set on this command, by the document.
uint16_t allowed_flags(Command command, ReplyForm form) {
    switch (command) {
        case Command::read:
            return form == ReplyForm::simple ? command_flag::fua
                                             : command_flag::fua | command_flag::df;
        case Command::write:
            return form == ReplyForm::extended ? command_flag::fua | command_flag::payload_len
                                               : command_flag::fua;
        case Command::write_zeroes:
            return command_flag::fua | command_flag::no_hole | command_flag::fast_zero;
        case Command::block_status:
            return command_flag::fua | command_flag::req_one;
        default:
            return command_flag::fua;
    }
}

// With extended headers a payload of this length follows, whatever the command.
WrongRequest draw_flag(Random& random, const Terms& terms) {
    nbd::Request request = within(random, terms, draw_command(random, terms));
    const uint16_t allowed = allowed_flags(request.type, terms.form);
    uint16_t other = 0;
    do {
        other = static_cast<uint16_t>(1U << random.below(16));
    } while ((allowed & other) != 0);
    request.flags = static_cast<uint16_t>(other | (random.one_in(2) ? command_flag::fua : 0));
    const bool brings = other == command_flag::payload_len && terms.form == ReplyForm::extended;
    if (brings && request.type != Command::write) {
        // 12 bytes could be the right payload of a block status.
        request.length = random.between(13, payload_bytes_max);
        WrongRequest made = wrong(request, Error::einval, terms);
        made.payload.resize(request.length);
        return made;
    }
    return wrong(request, Error::einval, terms);
}

// Its payload has the range's length, then the contexts.
WrongRequest draw_context(Random& random, const Terms& terms) {
    if (terms.form != ReplyForm::extended) return draw_unknown(random, terms);
    nbd::Request request;
    request.type = Command::block_status;
    request.flags = command_flag::payload_len;
    WrongRequest made = wrong(request, Error::einval, terms);
    put_number(made.payload, terms.block_bytes, 8);
    if (random.one_in(2)) put_number(made.payload, terms.context_id + random.between(1, 9), 4);
    if (made.payload.size() == 8 && random.one_in(2)) {  // the same context twice
        put_number(made.payload, terms.context_id, 4);
        put_number(made.payload, terms.context_id, 4);
    }
    made.request.length = made.payload.size();
    return made;
}

// Too much data for any request is refused before all else. The payload of a write is awaited only to a bound.
WrongRequest draw_too_large(Random& random, const Terms& terms) {
    nbd::Request request;
    request.type = random.one_in(4) ? Command::write : Command::read;
    const bool brings = request.type == Command::write;
    const uint64_t most = terms.form == ReplyForm::extended ? UINT64_MAX >> 1 : UINT32_MAX;
    request.length = random.between((brings ? data_never_skipped : data_never_taken) + 1, most);
    WrongRequest made;
    made.request = request;
    made.ends_stream = brings;
    return made;
}

WrongRequest draw_misaligned(Random& random, const Terms& terms) {
    if (terms.block_bytes == 1) return draw_outside(random, terms);
    nbd::Request request = within(random, terms, draw_command(random, terms));
    (random.one_in(2) ? request.offset : request.length) +=
        random.between(1, terms.block_bytes - 1);
    if (request.length > terms.bytes - request.offset) request.length = terms.block_bytes - 1;
    WrongRequest made = wrong(request, Error::einval, terms);
    made.in_device = made.error == Error::einval;
    return made;
}

}  // namespace

WrongRequest draw_wrong(Random& random, const Terms& terms) {
    switch (random.below(10)) {
        case 0:
            return draw_empty(random, terms);
        case 1:
            return draw_flush(random, terms);
        case 2:
            return draw_unknown(random, terms);
        case 3:
        case 4:
            return draw_flag(random, terms);
        case 5:
            return draw_context(random, terms);
        case 6:
            return draw_too_large(random, terms);
        case 7:
            return draw_misaligned(random, terms);
        case 8: {
            nbd::Request request = within(random, terms, Command::block_status);
            // Without a context there is no status.
            return terms.form == ReplyForm::simple ? wrong(request, Error::einval, terms)
                                                   : draw_context(random, terms);
        }
        default:
            return draw_outside(random, terms);
    }
}

}  // namespace blkscope::simulation
