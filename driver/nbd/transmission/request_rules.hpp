// RequestRules: which requests a client may make, and what it is told of those that it may not.
//
//     header ─▶ payload_bytes()   what follows it in the stream, wanted or not
//            ─▶ refusal()         0, or the errno that the specification names
//
// The device has the last word on alignment, which depends on its backing.
//
// Units:   bytes.
// Threads: pure functions.
// Errors:  none; they take any header at all.
// Source:  the NBD protocol document, "Request types" and "Error values".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

struct RequestRules {
    uint64_t size_bytes = 0;
    uint64_t payload_bytes_max = 0;  // of the data of one read or write
    bool read_only = false;
    Terms terms;

    /// The errno of a request that is not to be served, 0 for one that is.
    [[nodiscard]] int refusal(const Request& header) const;

    /// What follows the header.
    [[nodiscard]] uint64_t payload_bytes(const Request& header) const;

  private:
    [[nodiscard]] uint16_t allowed_flags(Command command) const;
    [[nodiscard]] int refusal_of_range(const Request& header) const;
    [[nodiscard]] int refusal_of_flags(const Request& header) const;
};

/// The data that a request brings or takes away.
[[nodiscard]] inline uint64_t data_bytes(const Request& header) {
    return header.type == Command::read || header.type == Command::write ? header.length : 0;
}

/// The payload of a block status that selects its contexts: the length of the range, and their ids.
/// We have one, so there is one form that asks for something and for nothing that is not there.
inline constexpr uint64_t status_payload_bytes = 12;

/// Whether a block status comes with a payload that must be looked at before it can be served.
[[nodiscard]] bool has_status_payload(const Request& header, ReplyForm form);

/// The request that such a header and its payload are, without the payload; nothing if it selects
/// what there is not.
[[nodiscard]] std::optional<Request> with_status_payload(
    const Request& header, std::span<const std::byte, status_payload_bytes> payload);

}  // namespace blkscope::nbd
