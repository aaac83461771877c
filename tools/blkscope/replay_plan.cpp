#include "tools/blkscope/replay_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>
#include <utility>

#include "base/splitmix64.hpp"

namespace blkscope {
namespace {

// Memory for the data of writes is allocated at once.
constexpr uint64_t write_bytes_max = uint64_t{64} << 20;

// The data of a request begins at one of so many bytes.
constexpr uint64_t places = uint64_t{1} << 20;

nbd::Command command_of(trace::Op op) {
    static_assert(nbd::op_commands.size() == trace::op_names.size());
    assert(op <= trace::last_op);
    return nbd::op_commands[static_cast<size_t>(op)];
}

struct Ability {
    uint16_t flag;
    const char* name;
};

// The ability of an export that an operation needs; none for reads and writes.
std::optional<Ability> ability_for(trace::Op op) {
    namespace offered = nbd::transmission_flag;
    switch (op) {
        case trace::Op::flush:
            return Ability{offered::send_flush, "flushes"};
        case trace::Op::trim:
            return Ability{offered::send_trim, "trims"};
        case trace::Op::write_zeroes:
            return Ability{offered::send_write_zeroes, "zeroes"};
        case trace::Op::cache:
            return Ability{offered::send_cache, "cache requests"};
        case trace::Op::read:
        case trace::Op::write:
        case trace::Op::block_status:
            break;
    }
    return {};
}

bool changes_data(trace::Op op) {
    return op == trace::Op::write || op == trace::Op::trim || op == trace::Op::write_zeroes;
}

std::string missing_flag(const trace::Request& request, const nbd::RemoteExport& remote) {
    namespace offered = nbd::transmission_flag;
    if ((request.flags & trace::flag::fua) != 0 && !remote.offers(offered::send_fua)) {
        return "the export has no FUA";
    }
    if ((request.flags & trace::flag::fast_zero) != 0 && !remote.offers(offered::send_fast_zero)) {
        return "the export has no fast zeroes";
    }
    return {};
}

std::string wrong_size(const trace::Request& request, const nbd::RemoteExport& remote) {
    if (request.op == trace::Op::flush) return {};
    const uint64_t size = remote.size_bytes;
    if (request.offset > size || request.bytes > size - request.offset) {
        return fmt::format("the export has only {} bytes", size);
    }
    const uint64_t block = remote.block_size.minimum;
    if (request.offset % block != 0 || request.bytes % block != 0) {
        return fmt::format("the export has blocks of {} bytes", block);
    }
    const bool moves = request.op == trace::Op::read || request.op == trace::Op::write;
    if (moves && request.bytes > remote.block_size.maximum) {
        return fmt::format("the export takes at most {} bytes in a request",
                           remote.block_size.maximum);
    }
    if (request.op == trace::Op::write && request.bytes > write_bytes_max) {
        return fmt::format("replay sends at most {} bytes in a write", write_bytes_max);
    }
    if (request.bytes > UINT32_MAX && remote.terms.replies != nbd::ReplyForm::extended) {
        return "the server takes no request of 4 GiB or more";
    }
    return {};
}

std::string why_not_one(const trace::Request& request, const nbd::RemoteExport& remote) {
    if (changes_data(request.op) && remote.offers(nbd::transmission_flag::read_only)) {
        return "the export is read-only";
    }
    const std::optional<Ability> ability = ability_for(request.op);
    if (ability && !remote.offers(ability->flag)) {
        return fmt::format("the export has no {}", ability->name);
    }
    if (request.op == trace::Op::block_status && !remote.terms.allocation) {
        return "the export has no block status";
    }
    std::string why = missing_flag(request, remote);
    return why.empty() ? wrong_size(request, remote) : why;
}

}  // namespace

nbd::Request remote_request(const trace::Request& request) {
    const auto flag_if = [&](uint8_t bit, uint16_t flag) {
        return (request.flags & bit) != 0 ? unsigned{flag} : 0U;
    };
    const unsigned flags = flag_if(trace::flag::fua, nbd::command_flag::fua) |
                           flag_if(trace::flag::no_hole, nbd::command_flag::no_hole) |
                           flag_if(trace::flag::fast_zero, nbd::command_flag::fast_zero);
    const bool has_place = request.op != trace::Op::flush;
    return {.flags = static_cast<uint16_t>(flags),
            .type = command_of(request.op),
            .cookie = 0,
            .offset = has_place ? request.offset : 0,
            .length = has_place ? request.bytes : 0};
}

std::string changes_of(const std::vector<trace::Request>& requests) {
    struct Kind {
        trace::Op op;
        const char* name;
    };
    std::vector<std::string> parts;
    for (const auto& [op, name] :
         std::array{Kind{trace::Op::write, "write"}, Kind{trace::Op::trim, "trim"},
                    Kind{trace::Op::write_zeroes, "write_zeroes"}}) {
        const auto count = std::ranges::count(requests, op, &trace::Request::op);
        const bool plural = count > 1 && op != trace::Op::write_zeroes;
        if (count > 0) parts.push_back(fmt::format("{} {}{}", count, name, plural ? "s" : ""));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string why_not(const std::vector<trace::Request>& requests, const nbd::RemoteExport& remote) {
    std::string first_reason;
    size_t first = 0;
    size_t count = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
        std::string why = why_not_one(requests[i], remote);
        if (why.empty()) continue;
        if (++count > 1) continue;
        first_reason = std::move(why);
        first = i;
    }
    if (count == 0) return {};
    const trace::Request& request = requests[first];
    return fmt::format("{}; request {} is a {} of {} bytes at {}{}", first_reason, first + 1,
                       trace::name_of(request.op), request.bytes, request.offset,
                       count > 1 ? fmt::format(", and {} more cannot be sent", count - 1) : "");
}

ReplayData::ReplayData(uint64_t seed, uint64_t bytes_max)
    : seed_(seed), bytes_(bytes_max > 0 ? (places + bytes_max + 7) / 8 * 8 : 0) {
    uint64_t state = seed_;
    for (size_t at = 0; at < bytes_.size(); at += sizeof state) {
        state += splitmix64_step;
        const uint64_t word = splitmix64(state);
        std::memcpy(bytes_.data() + at, &word, sizeof word);
    }
}

const std::byte* ReplayData::of(uint64_t number) const {
    assert(!bytes_.empty());
    return bytes_.data() + splitmix64(seed_ + (number + 1) * splitmix64_step) % places;
}

}  // namespace blkscope
