// The server's half of the NBD handshake, as a state machine: bytes in, bytes out.
//
//     greeting() ──▶ client flags ──▶ option header ──▶ data ──▶ answer ──┬─▶ transmission
//                                          ▲                              ├─▶ close
//                                          └──────────────────────────────┘
//
// There is no socket, no clock and no thread in it. Whoever has them sends greeting(), then reads
// at most wanted() bytes, feeds them, sends what the step says, and goes where it says:
//
//     Handshake handshake(exports);
//     send(handshake.greeting());
//     for (;;) {
//         const Step step = handshake.feed(receive_at_most(handshake.wanted()));
//         send(step.send);
//         if (step.next != Step::Next::go_on) break;
//     }
//
// wanted() never reaches into the next message, so what follows a GO is still unread in the socket
// when transmission begins. A deadline for the whole, and a client that is gone (normal at any
// byte, and after ABORT even polite), are the caller's business.
//
// It speaks fixed newstyle, with structured replies, extended headers and the metadata context
// base:allocation; and STARTTLS as far as a machine without a socket can: it says when TLS begins,
// and is fed what was decrypted from there on. What the client agreed on before is forgotten then,
// since anyone on the way may have said it.
//
// Source: the NBD protocol document, "Handshake phase".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/nbd/handshake/exports.hpp"
#include "driver/nbd/handshake/option_answers.hpp"
#include "driver/nbd/handshake/option_replies.hpp"
#include "driver/nbd/handshake/terms.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

/// What one client may cost before it has asked for an export. The numbers are those of the servers
/// that clients have met for years.
struct HandshakeLimits {
    std::uint32_t options_max = 32;  // then the connection closes
    /// Further options for each export that a LIST has named: `nbdinfo --list` asks about each.
    std::uint32_t options_per_listed_export = 32;
    /// A longer option closes the connection; a shorter one is read and, if need be, thrown away.
    std::uint32_t option_bytes_max = 32u << 20;
    /// The longest option whose data is kept to be looked at, which bounds the memory held.
    std::uint32_t parsed_bytes_max = 64u << 10;
};

/// One connection's negotiation.
///
/// Units:     bytes.
/// Ownership: borrows `exports`, which outlives it; owns what its steps point at. Holds at most twice
///            parsed_bytes_max of the client's data, and an answer of at most the list of exports.
/// Threads:   one at a time: the control thread's.
/// Errors:    whatever the client sends ends in a Step. Feeding more than wanted(), or feeding after
///            the end, is the caller's bug, and aborts.
class Handshake {
  public:
    /// Forms of replies beyond `replies_max` are unknown to it, as they are to older servers.
    explicit Handshake(const Exports& exports, HandshakeLimits limits = {},
                       TlsMode tls = TlsMode::off, ReplyForm replies_max = ReplyForm::extended);
    Handshake(const Handshake&) = delete;
    Handshake& operator=(const Handshake&) = delete;

    /// What the server says first, and all it says to a client that says nothing.
    [[nodiscard]] static std::array<std::byte, greeting_bytes> greeting();

    /// How many bytes may be read next: at least one, at most 64 KiB; none once it has ended.
    [[nodiscard]] std::size_t wanted() const;

    /// Takes in the next bytes of the stream, at most wanted() of them; fewer are as good, so the
    /// caller's buffer may be smaller.
    [[nodiscard]] Step feed(std::span<const std::byte> bytes);

    /// The server is going away. Options whose answer is still to come get ERR_SHUTDOWN, all but an
    /// ABORT, which is what the client does best now.
    void set_stopping() { answers_.set_stopping(); }

  private:
    enum class State { client_flags, option_header, option_data, ended };

    void expect(State state, std::size_t bytes, bool keep);
    [[nodiscard]] bool too_many_options() const;
    Step take_client_flags();
    Step take_option_header();
    Step answer();
    Step go_on();
    Step close(std::string reason);

    const Exports& exports_;
    const HandshakeLimits limits_;
    OptionReplies replies_;
    OptionAnswers answers_;

    State state_ = State::client_flags;
    std::size_t missing_ = client_flags_bytes;  // of the message being read
    bool keep_ = true;                          // its bytes go to in_; else they are only counted
    std::vector<std::byte> in_;

    bool fixed_newstyle_ = false;
    std::uint64_t options_seen_ = 0;
    Option option_{};
    std::uint32_t option_bytes_ = 0;  // of its data, as the client announced
    std::string reason_;
};

}  // namespace blkscope::nbd
