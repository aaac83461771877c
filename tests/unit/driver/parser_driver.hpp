// Feeds a stream to a Parser in pieces, and lists the events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/transmission/arena.hpp"
#include "driver/nbd/transmission/parser.hpp"

namespace blkscope::nbd::testing {

using Event = Parser::Event;

/// An event with its data.
struct Seen {
    Event event{};
    Request header;
    int refusal = 0;
    std::string payload;

    friend bool operator==(const Seen&, const Seen&) = default;
};

template <class T>
void append(std::string& to, T value) {
    for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
        to.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
    }
}

/// Appends the header in the form that belongs to these replies.
inline void append_request(std::string& to, ReplyForm form, const Request& header) {
    const bool extended = form == ReplyForm::extended;
    append(to, extended ? extended_request_magic : request_magic);
    append(to, header.flags);
    append(to, static_cast<uint16_t>(header.type));
    append(to, header.cookie);
    append(to, header.offset);
    if (extended) return append(to, header.length);
    append(to, static_cast<uint32_t>(header.length));
}

inline RequestRules rules_for(ReplyForm form, uint64_t device_bytes) {
    return {.size_bytes = device_bytes,
            .payload_bytes_max = Arena::piece_bytes_max,
            .read_only = false,
            .terms = {.replies = form, .allocation = true, .block_sizes = false}};
}

/// Copies bytes to the parser's places; returns their number.
inline size_t give(Parser& parser, std::string_view bytes) {
    size_t given = 0;
    for (const iovec& place : parser.places()) {
        const size_t part = std::min(place.iov_len, bytes.size() - given);
        if (part > 0) std::memcpy(place.iov_base, bytes.data() + given, part);
        given += part;
    }
    if (given > 0) parser.received(given);
    return given;
}

/// All events of the stream; `piece` gives the length of each piece.
template <class Piece>
std::vector<Seen> play(const RequestRules& rules, std::string_view stream, Piece piece) {
    Parser parser(rules);
    std::vector<Seen> all;
    std::vector<std::byte> place;
    for (;;) {
        const Event event = parser.next();
        if (event == Event::need_bytes) {
            if (stream.empty()) return all;
            stream.remove_prefix(give(parser, stream.substr(0, piece())));
            continue;
        }
        Seen& seen = all.emplace_back();
        seen.event = event;
        if (event == Event::lost || event == Event::disconnect) return all;
        const Parser::Incoming& incoming = parser.incoming();
        seen.header = incoming.header;
        seen.refusal = incoming.refusal;
        if (event == Event::payload_complete) {
            seen.payload.assign(reinterpret_cast<const char*>(place.data()), place.size());
            continue;
        }
        place.assign(seen.refusal == 0 ? incoming.payload_bytes : 0, std::byte{0});
        const bool ends = incoming.ends_stream;
        parser.take(place.empty() ? nullptr : place.data());
        if (ends) return all;
    }
}

}  // namespace blkscope::nbd::testing
