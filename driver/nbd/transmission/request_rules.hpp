// RequestRules: the requests that a client may make, and the errors for the others.
//
//     header ─▶ payload_bytes()   the bytes that follow it in the stream, even if refused
//            ─▶ refusal()         0, or the errno that the specification names
//
// The device itself checks alignment, which depends on its backing.
//
// Units:   bytes.
// Threads: pure functions.
// Errors:  none; any header is accepted as input.
// Source:  the NBD protocol document, "Request types" and "Error values".
#pragma once

#include <cstdint>
#include <span>

#include "driver/nbd/handshake/terms.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

struct RequestRules {
    uint64_t size_bytes = 0;
    uint64_t payload_bytes_max = 0;  // of the data of one read or write
    bool read_only = false;
    Terms terms;

    /// The errno of a refused request; 0 for an allowed one.
    [[nodiscard]] int refusal(const Request& header) const;

    /// Bytes of payload after the header.
    [[nodiscard]] uint64_t payload_bytes(const Request& header) const;

  private:
    [[nodiscard]] uint16_t allowed_flags(Command command) const;
    [[nodiscard]] int refusal_of_range(const Request& header) const;
    [[nodiscard]] int refusal_within(const Request& header) const;
    [[nodiscard]] int refusal_of_flags(const Request& header) const;
};

/// Bytes of data that a request sends or receives.
[[nodiscard]] inline uint64_t data_bytes(const Request& header) {
    return header.type == Command::read || header.type == Command::write ? header.length : 0;
}

/// Bytes of the payload with which a block status selects contexts: the range's length, then the
/// context ids. The server offers one context, so a payload of any other length is refused.
inline constexpr uint64_t status_payload_bytes = 12;

/// True if a block status has a payload that must be parsed before the request can be checked.
[[nodiscard]] bool has_status_payload(const Request& header, ReplyForm form);

/// Combines the header and its payload to a request without payload. EINVAL: the payload selects an
/// unknown context.
[[nodiscard]] Result<Request> with_status_payload(
    const Request& header, std::span<const std::byte, status_payload_bytes> payload);

}  // namespace blkscope::nbd
