// Terms that a handshake agrees on, and the steps of a handshake.
//
// Source: the NBD protocol document, "Handshake phase".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

/// Whether clients may, or must, use TLS before they get an export.
enum class TlsMode {
    off,      // STARTTLS is refused
    on,       // the client chooses, and so can an attacker on the network
    require,  // without TLS only STARTTLS and ABORT are answered
};

/// Parses "simple", "structured" or "extended".
std::optional<ReplyForm> reply_form(std::string_view word);

/// The terms of the transmission phase that client and server have agreed on.
struct Terms {
    ReplyForm replies = ReplyForm::simple;
    bool allocation = false;   // base:allocation is selected, so block status is allowed
    bool block_sizes = false;  // the client asked for the block sizes, so it respects them

    friend bool operator==(const Terms&, const Terms&) = default;
};

/// The result of one feed().
struct Step {
    enum class Next {
        go_on,         // read up to wanted() more bytes
        start_tls,     // send, begin TLS, then feed only decrypted bytes
        transmission,  // send, then serve exports[exp]
        close,         // send, then close
    };

    /// Bytes to send first. The handshake owns them; valid until the next feed().
    std::span<const std::byte> send;
    Next next = Next::go_on;
    size_t exp = 0;       // the export's index; only with transmission
    Terms terms = {};     // only with transmission
    /// The reason to log, one line of ASCII; valid until the next feed(). Only with close, and
    /// empty if the client asked to close.
    std::string_view reason;
};

}  // namespace blkscope::nbd
