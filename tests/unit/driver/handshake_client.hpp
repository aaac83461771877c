// The client's half of a handshake, for tests: builds a client's bytes and feeds them to a
// Handshake.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/handshake/handshake.hpp"

namespace blkscope::nbd::testing {

// Types of an option's replies.
constexpr uint32_t ack = 1;
constexpr uint32_t info = 3;
constexpr uint32_t err_unsup = 0x80000001;
constexpr uint32_t err_policy = 0x80000002;
constexpr uint32_t err_invalid = 0x80000003;
constexpr uint32_t err_tls_reqd = 0x80000005;
constexpr uint32_t err_unknown = 0x80000006;
constexpr uint32_t err_shutdown = 0x80000007;
constexpr uint32_t err_too_big = 0x80000009;
constexpr uint32_t err_ext_header_reqd = 0x8000000a;

/// Bytes as a string, because that compares, prints and concatenates.
template <std::unsigned_integral T>
std::string be(T value) {
    std::string bytes;
    for (size_t i = sizeof(T); i-- > 0;) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
    return bytes;
}

inline std::string u16(uint16_t value) {
    return be(value);
}
inline std::string u32(uint32_t value) {
    return be(value);
}
inline std::string u64(uint64_t value) {
    return be(value);
}

inline std::string counted(std::string_view text) {
    return u32(static_cast<uint32_t>(text.size())) + std::string(text);
}

inline std::string option_header(uint32_t number, uint32_t bytes) {
    return "IHAVEOPT" + u32(number) + u32(bytes);
}

inline std::string option(uint32_t number, std::string_view data = {}) {
    return option_header(number, static_cast<uint32_t>(data.size())) + std::string(data);
}

inline std::string reply(uint32_t number, uint32_t type, std::string_view data = {}) {
    return u64(0x0003e889045565a9) + u32(number) + u32(type) + counted(data);
}

inline std::string question(std::string_view name, const std::vector<uint16_t>& wishes = {}) {
    std::string data = counted(name) + u16(static_cast<uint16_t>(wishes.size()));
    for (const uint16_t wish : wishes) data += u16(wish);
    return data;
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
inline std::string contexts(std::string_view name, const std::vector<std::string>& queries) {
    std::string data = counted(name) + u32(static_cast<uint32_t>(queries.size()));
    for (const std::string& query : queries) data += counted(query);
    return data;
}

inline const std::string fixed = u32(3);         // fixed newstyle, no zeroes
inline const std::string with_zeroes = u32(1);   // fixed newstyle
inline const std::string before_fixed = u32(0);  // as clients were before 2011

/// The result of a whole handshake.
struct Outcome {
    std::string sent;
    Step::Next next = Step::Next::go_on;
    size_t exp = 0;
    Terms terms;
    std::string reason;
    size_t taken = 0;           // bytes of the client that were read
    size_t sent_at_once = 0;    // the longest answer
    size_t wanted_at_once = 0;  // the longest read

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Feeds `stream` in pieces of at most `piece` bytes until it or the handshake ends.
inline Outcome play(Handshake& handshake, std::string_view stream,
                    size_t piece = std::numeric_limits<size_t>::max()) {
    Outcome outcome;
    while (outcome.next == Step::Next::go_on && outcome.taken < stream.size()) {
        const size_t wanted = handshake.wanted();
        const auto bytes = stream.substr(outcome.taken, std::min(wanted, piece));
        const Step step = handshake.feed(std::as_bytes(std::span(bytes)));
        outcome.taken += bytes.size();
        outcome.sent.append(reinterpret_cast<const char*>(step.send.data()), step.send.size());
        outcome.sent_at_once = std::max(outcome.sent_at_once, step.send.size());
        outcome.wanted_at_once = std::max(outcome.wanted_at_once, wanted);
        outcome.next = step.next;
        outcome.exp = step.exp;
        outcome.terms = step.terms;
        outcome.reason = step.reason;
    }
    return outcome;
}

inline constexpr uint16_t disk_flags = 0x0d6d;

/// Two exports, the second the default and without a description.
inline Exports two_exports() {
    return Exports({{.name = "disk",
                     .description = "a disk",
                     .size_bytes = 0x123456000,
                     .transmission_flags = disk_flags,
                     .block_size = {.minimum = 512, .preferred = 4096, .maximum = 1 << 25}},
                    {.name = "null",
                     .description = {},
                     .size_bytes = 4096,
                     .transmission_flags = 0x0003,
                     .block_size = {},
                     .is_default = true}});
}

}  // namespace blkscope::nbd::testing
