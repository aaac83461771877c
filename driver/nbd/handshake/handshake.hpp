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
#include "driver/nbd/handshake/exports.hpp"
#include "driver/nbd/protocol.hpp"
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// One connection's negotiation.
///
/// Units:     bytes.
/// Ownership: borrows `exports`, which outlives it; owns what its steps point at. Holds at most
/// twice
///            parsed_bytes_max of the client's data, and an answer of at most the list of exports.
/// Threads:   one at a time: the control thread's.
/// Errors:    whatever the client sends ends in a Step. Feeding more than wanted(), or feeding
/// after
///            the end, is the caller's bug, and aborts.
class Handshake {
  public:
    /// Forms of replies beyond `replies_max` are unknown to it, as they are to older servers.
    explicit Handshake(const Exports& exports, HandshakeLimits limits = {},
                       TlsMode tls = TlsMode::off, ReplyForm replies_max = ReplyForm::extended);

    /// What the server says first, and all it says to a client that says nothing.
    [[nodiscard]] static std::array<std::byte, greeting_bytes> greeting();

    /// How many bytes may be read next: at least one, at most 64 KiB; none once it has ended.
    [[nodiscard]] std::size_t wanted() const;

    /// Takes in the next bytes of the stream, at most wanted() of them; fewer are as good, so the
    /// caller's buffer may be smaller.
    [[nodiscard]] Step feed(std::span<const std::byte> bytes);

    /// The server is going away. Options whose answer is still to come get ERR_SHUTDOWN, all but an
    /// ABORT, which is what the client does best now.
    void set_stopping() { stopping_ = true; }

  private:
    enum class State { client_flags, option_header, option_data, ended };

    void expect(State state, std::size_t bytes, bool keep);
    void expect_option() { expect(State::option_header, option_header_bytes, true); }
    [[nodiscard]] bool too_many_options() const;
    [[nodiscard]] bool is_parsed() const;
    [[nodiscard]] bool is_known() const;

    Step take_client_flags();
    Step take_option_header();
    Step answer();
    Step answer_stopping();
    Step answer_without_tls();
    Step answer_starttls();
    void forget_agreements();
    Step answer_export_name();
    Step answer_abort();
    Step answer_list();
    Step answer_info_or_go();
    Step answer_structured_reply();
    Step answer_extended_headers();
    Step answer_meta_context();
    Step answer_unsupported();
    Step refuse_name(std::string_view name);
    Step refuse_data();

    void put_reply(OptionReply type, std::size_t data_bytes);
    void put_infos(const ExportInfo& exp, bool name, bool description);
    [[nodiscard]] std::uint16_t flags_of(const ExportInfo& exp) const;

    Step go_on();
    Step acknowledge();
    Step refuse(OptionReply error, std::string_view why);
    Step close(std::string reason);
    Step transmission(std::size_t exp, std::string_view name);

    const Exports& exports_;
    const HandshakeLimits limits_;
    const TlsMode tls_;
    const ReplyForm replies_max_;
    bool in_tls_ = false;
    bool stopping_ = false;

    State state_ = State::client_flags;
    std::size_t missing_ = client_flags_bytes;  // of the message being read
    bool keep_ = true;                          // its bytes go to in_; else they are only counted
    std::vector<std::byte> in_;

    bool fixed_newstyle_ = false;
    bool no_zeroes_ = false;
    bool listed_ = false;
    Terms terms_;
    std::string contexts_of_;  // the name of the export that the selection is for
    std::uint64_t options_seen_ = 0;
    Option option_{};
    std::uint32_t option_bytes_ = 0;  // of its data, as the client announced

    std::vector<std::byte> out_;
    std::string reason_;
};

}  // namespace blkscope::nbd
