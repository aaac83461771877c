// What a handshake agrees on, and the steps that lead there.
//
// Source: the NBD protocol document, "Handshake phase".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

/// Whether clients may, or must, speak TLS before they get an export.
enum class TlsMode {
    off,      // STARTTLS is refused
    on,       // the client chooses; whoever is on the way can choose for it
    require,  // nothing but STARTTLS and ABORT is answered without it
};

/// simple, structured, extended.
std::optional<ReplyForm> reply_form(std::string_view word);

/// What a client and the server have agreed on: how they talk in the transmission phase.
struct Terms {
    ReplyForm replies = ReplyForm::simple;
    bool allocation = false;   // base:allocation is selected, so block status may be asked
    bool block_sizes = false;  // the client asked for the block sizes, so it keeps to them

    friend bool operator==(const Terms&, const Terms&) = default;
};

/// What one feed() leads to.
struct Step {
    enum class Next {
        go_on,         // read wanted() more
        start_tls,     // after sending, TLS begins; feed what it decrypts, and nothing else
        transmission,  // serve exports[exp] after sending
        close,         // close after sending
    };

    /// To be sent before anything else. The handshake's own memory: valid until the next feed().
    std::span<const std::byte> send;
    Next next = Next::go_on;
    std::size_t exp = 0;  // the export's index; only with transmission
    Terms terms = {};     // only with transmission
    /// Why, for the log: one line of ASCII, valid until the next feed(). Only with close, and empty
    /// if the client asked for it, which is nothing to log.
    std::string_view reason;
};

}  // namespace blkscope::nbd
