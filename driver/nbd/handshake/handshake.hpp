// The server's half of the NBD handshake, as a state machine: bytes in, bytes out.
//
//     greeting() ──▶ client flags ──▶ option header ──▶ data ──▶ answer ──┬─▶ transmission
//                                          ▲                              ├─▶ close
//                                          └──────────────────────────────┘
//
// The handshake has no socket, clock or thread. The caller sends greeting(). Then the caller reads
// at most wanted() bytes, feeds them, sends the step's bytes and follows step.next:
//
//     Handshake handshake(exports);
//     send(handshake.greeting());
//     for (;;) {
//         const Step step = handshake.feed(receive_at_most(handshake.wanted()));
//         send(step.send);
//         if (step.next != Step::Next::go_on) break;
//     }
//
// wanted() never exceeds the current message. So bytes after a GO are still unread when
// transmission begins. The caller keeps the deadline and handles a client that closes, which is
// normal at any byte.
//
// The handshake speaks fixed newstyle, with structured replies, extended headers and the metadata
// context base:allocation. For STARTTLS it says when TLS begins; from then on the caller feeds
// decrypted bytes. Earlier agreements are then forgotten, since an attacker may have sent them.
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

/// Limits on one client before it has chosen an export. Common servers have the same limits.
struct HandshakeLimits {
    uint32_t options_max = 32;  // then the connection closes
    /// Further options for each export after a LIST, because `nbdinfo --list` asks about each
    /// export.
    uint32_t options_per_listed_export = 32;
    /// A longer option closes the connection. A shorter one is read, even if its data is not used.
    uint32_t option_bytes_max = 32u << 20;
    /// The longest option whose data is kept and parsed. Bounds the memory of a client.
    uint32_t parsed_bytes_max = 64u << 10;
};

/// The negotiation of one connection.
///
/// Units:     bytes.
/// Ownership: borrows `exports`, which outlives it; owns the bytes of its steps. The memory is at
///            most twice parsed_bytes_max of the client's data, and one list of the exports.
/// Threads:   the control thread.
/// Errors:    any bytes from the client lead to a Step. Feeding more than wanted(), or feeding
///            after the end, is the caller's bug, and aborts.
class Handshake {
  public:
    /// Forms of replies beyond `replies_max` are refused as unknown options, as older servers do.
    explicit Handshake(const Exports& exports, HandshakeLimits limits = {},
                       TlsMode tls = TlsMode::off, ReplyForm replies_max = ReplyForm::extended);
    Handshake& operator=(Handshake&&) = delete;

    /// The server's first message.
    [[nodiscard]] static std::array<std::byte, greeting_bytes> greeting();

    /// The number of bytes to read next: 1 to 64 KiB, and 0 after the end.
    [[nodiscard]] size_t wanted() const;

    /// Takes the next bytes of the stream, 1 to wanted().
    [[nodiscard]] Step feed(std::span<const std::byte> bytes);

    /// The server is shutting down. Every later option except ABORT is answered with ERR_SHUTDOWN.
    void set_stopping() { answers_.set_stopping(); }

  private:
    enum class State { client_flags, option_header, option_data, ended };

    void expect(State state, size_t bytes, bool keep);
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
    size_t missing_ = client_flags_bytes;       // of the message being read
    bool keep_ = true;                          // bytes are kept in in_, else only counted
    std::vector<std::byte> in_;

    bool fixed_newstyle_ = false;
    uint64_t options_seen_ = 0;
    Option option_{};
    uint32_t option_bytes_ = 0;  // of its data, as announced by the client
    std::string reason_;
};

}  // namespace blkscope::nbd
