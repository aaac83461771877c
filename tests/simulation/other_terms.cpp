#include "other_terms.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>

namespace blkscope::simulation {
namespace {

using nbd::Command;
using nbd::Error;
namespace flag = nbd::transmission_flag;
namespace command_flag = nbd::command_flag;

constexpr uint64_t block_bytes = 512;

constexpr std::array<std::pair<uint16_t, const char*>, 9> names{
    {{flag::read_only, "read-only"},
     {flag::send_flush, "flush"},
     {flag::send_fua, "fua"},
     {flag::rotational, "rotational"},
     {flag::send_trim, "trim"},
     {flag::send_write_zeroes, "zeroes"},
     {flag::can_multi_conn, "multi"},
     {flag::send_cache, "cache"},
     {flag::send_fast_zero, "fast"}}};

}  // namespace

bool changes(Command command) {
    return command == Command::write || command == Command::trim ||
           command == Command::write_zeroes;
}

bool moves_data(Command command) {
    return command == Command::read || command == Command::write;
}

std::string text_of(const nbd::Request& request) {
    return "command " + std::to_string(static_cast<int>(request.type)) + ", flags " +
           std::to_string(request.flags) + ", " + std::to_string(request.length) + " bytes at " +
           std::to_string(request.offset);
}

OtherTerms OtherTerms::draw(Random& random, uint64_t export_bytes, bool several) {
    OtherTerms terms;
    terms.draw_flags(random);
    if (several) terms.flags |= flag::can_multi_conn;
    terms.draw_sizes(random);
    if (random.one_in(2)) terms.draw_refused(random, export_bytes);
    terms.fragments = !random.one_in(3);
    if (random.one_in(3)) terms.wrong_cookie_one_in = random.between(20, 200);
    return terms;
}

void OtherTerms::draw_flags(Random& random) {
    flags = flag::has_flags;
    const auto mostly = [&](uint16_t each) {
        if (!random.one_in(4)) flags |= each;
    };
    mostly(flag::send_flush);
    mostly(flag::send_fua);
    mostly(flag::send_trim);
    mostly(flag::send_write_zeroes);
    mostly(flag::send_cache);
    if (random.one_in(4)) flags |= flag::rotational;
    if (offers(flag::send_write_zeroes) && !random.one_in(3)) flags |= flag::send_fast_zero;
    allocation = !random.one_in(3);
}

// A limit need not be a multiple of the blocks.
void OtherTerms::draw_sizes(Random& random) {
    static constexpr uint32_t least[] = {1, 1, 512, 512, 1024, 4096};
    static constexpr uint32_t most[] = {512, 1024, 1536, 2048, 4096, 8192, 65536, 1 << 20};
    block_size.minimum = least[random.below(std::size(least))];
    block_size.preferred = std::max(block_size.minimum, 512U << random.below(6));
    block_size.maximum = std::max(block_size.minimum, most[random.below(std::size(most))]);
    if (block_size.minimum > 1 && random.one_in(4)) block_size.maximum += 100;
}

void OtherTerms::draw_refused(Random& random, uint64_t export_bytes) {
    static constexpr Command commands[] = {
        Command::read,         Command::write, Command::write,       Command::trim,
        Command::write_zeroes, Command::cache, Command::block_status};
    static constexpr Error errors[] = {Error::eperm,    Error::eio,    Error::enomem,
                                       Error::einval,   Error::enospc, Error::enotsup,
                                       Error::eoverflow};
    const uint64_t blocks = export_bytes / block_bytes;
    for (uint64_t i = random.between(1, 4); i > 0; --i) {
        const uint64_t first = random.below(blocks);
        const uint64_t end = std::min(blocks, first + random.between(1, 8));
        refused.push_back({first * block_bytes, end * block_bytes,
                           commands[random.below(std::size(commands))],
                           errors[random.below(std::size(errors))]});
    }
}

bool OtherTerms::offers(Command command) const {
    switch (command) {
        case Command::read:
        case Command::write:
            return true;
        case Command::flush:
            return offers(flag::send_flush);
        case Command::trim:
            return offers(flag::send_trim);
        case Command::write_zeroes:
            return offers(flag::send_write_zeroes);
        case Command::cache:
            return offers(flag::send_cache);
        case Command::block_status:
            return allocation;
        case Command::disc:
        case Command::resize:
            break;
    }
    return false;
}

std::string OtherTerms::offence(const nbd::Request& request, uint64_t export_bytes,
                                bool extended) const {
    if (!offers(request.type)) return "a command that is not offered";
    if (changes(request.type) && offers(flag::read_only)) return "a change of a read-only export";
    uint16_t allowed = 0;
    if (changes(request.type) && offers(flag::send_fua)) allowed |= command_flag::fua;
    if (request.type == Command::write_zeroes) allowed |= command_flag::no_hole;
    if (request.type == Command::write_zeroes && offers(flag::send_fast_zero)) {
        allowed |= command_flag::fast_zero;
    }
    if (request.type == Command::block_status) allowed |= command_flag::req_one;
    const bool payload = extended && request.type == Command::write;
    if (payload) allowed |= command_flag::payload_len;
    if ((request.flags & ~allowed) != 0) return "a flag that is not offered";
    if (payload && (request.flags & command_flag::payload_len) == 0) return "no PAYLOAD_LEN";
    if (request.type == Command::flush) {
        return request.offset == 0 && request.length == 0 ? "" : "a flush of a range";
    }
    if (request.length == 0) return "a request of no bytes";
    if (request.offset > export_bytes || request.length > export_bytes - request.offset) {
        return "a request outside of the export";
    }
    if (request.offset % block_size.minimum != 0 || request.length % block_size.minimum != 0) {
        return "a request of parts of blocks";
    }
    if (moves_data(request.type) && request.length > block_size.maximum) {
        return "a request that is larger than allowed";
    }
    return {};
}

OtherTerms::Refusal OtherTerms::refusal(const nbd::Request& request) const {
    if (request.type == Command::flush) return {flush_error, 0};
    Refusal first;
    for (const Refused& range : refused) {
        const uint64_t at = std::max(range.first_byte, request.offset);
        const uint64_t end = std::min(range.end_byte, request.offset + request.length);
        if (range.command != request.type || at >= end) continue;
        if (first.error == Error::none || at < first.at) first = {range.error, at};
    }
    return first;
}

// A cache is only a hint. Without flushes everything is stable, and a flush has nothing to do.
bool OtherTerms::ends_here(const nbd::Request& request) const {
    const bool hint = request.type == Command::cache || request.type == Command::flush ||
                      request.type == Command::block_status;
    return hint && !offers(request.type);
}

Error OtherTerms::told(const nbd::Request& request) const {
    const bool fua = (request.flags & command_flag::fua) != 0;
    const bool fast = (request.flags & command_flag::fast_zero) != 0;
    if (changes(request.type) && offers(flag::read_only)) return Error::eperm;
    if (request.type != Command::flush &&
        (request.offset % block_size.minimum != 0 || request.length % block_size.minimum != 0)) {
        return Error::einval;
    }
    if (ends_here(request)) return Error::none;
    if (!offers(request.type)) return Error::einval;
    if (changes(request.type) && fua && !offers(flag::send_fua)) return Error::einval;
    if (request.type == Command::write_zeroes && fast && !offers(flag::send_fast_zero)) {
        return Error::einval;
    }
    const Error error = refusal(request).error;
    // Only a fast zeroing may be declined.
    return error == Error::enotsup && !(request.type == Command::write_zeroes && fast) ? Error::eio
                                                                                       : error;
}

uint64_t OtherTerms::failed_piece(const nbd::Request& request) const {
    const uint64_t at = refusal(request).at;
    if (!moves_data(request.type)) return request.offset;
    return at - (at - request.offset) % piece_bytes_max();
}

bool is_piece_of(const OtherTerms& terms, const nbd::Request& piece, const nbd::Request& asked) {
    if (piece.type != asked.type) return false;
    if (piece.type == Command::flush) return true;
    uint16_t passed_on = changes(piece.type) ? command_flag::fua : 0;
    if (piece.type == Command::write_zeroes) {
        passed_on |= command_flag::no_hole | command_flag::fast_zero;
    }
    const uint16_t flags = piece.flags & static_cast<uint16_t>(~command_flag::payload_len);
    if (flags != (asked.flags & passed_on) || piece.offset < asked.offset) return false;
    const uint64_t before = piece.offset - asked.offset;
    if (before >= asked.length) return false;
    const uint64_t rest = asked.length - before;
    if (!moves_data(piece.type)) return before == 0 && piece.length == rest;
    const uint64_t most = terms.piece_bytes_max();
    return before % most == 0 && piece.length == std::min(rest, most);
}

std::string OtherTerms::describe() const {
    std::ostringstream text;
    text << "blocks " << block_size.minimum << " to " << block_size.maximum;
    for (const auto& [each, name] : names) {
        if (offers(each)) text << ", " << name;
    }
    if (allocation) text << ", block status";
    for (const Refused& range : refused) {
        text << ", " << range.first_byte / block_bytes << " to " << range.end_byte / block_bytes
             << " refuse " << static_cast<int>(range.command) << " with "
             << static_cast<int>(range.error);
    }
    if (flush_error != Error::none) text << ", flush error " << static_cast<int>(flush_error);
    if (wrong_cookie_one_in > 0) text << ", wrong cookies";
    return text.str();
}

}  // namespace blkscope::simulation
