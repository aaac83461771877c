// ClientHandshake: the client's half of the NBD handshake, as a state machine: bytes in, bytes out.
//
//     greeting ─▶ extended headers? ─▶ structured replies? ─▶ base:allocation? ─▶ GO ─┬─▶ end
//                        │ yes                                      ▲                │
//                        └──────────────────────────────────────────┘       EXPORT_NAME, if unknown
//
// The handshake has no socket, clock or thread. The caller reads at most wanted() bytes, feeds
// them, sends the step's bytes and follows step.next. The caller keeps the deadline.
//
// Each byte of the server is foreign. A message of the wrong kind or length ends the handshake. The
// number of messages is limited.
//
// With a wish for TLS, STARTTLS is the first question. At Next::start_tls no byte is read that the
// server has sent in the clear behind its consent. So an attacker cannot put answers in there: they
// are taken for TLS, and make no sense.
//
// Units:     bytes.
// Ownership: owns the bytes of its steps.
// Threads:   a single one.
// Errors:    Next::failed, and failure() says why in one line.
// Source:    the NBD protocol document, "Handshake phase".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/client/remote_export.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

/// The wishes of a client.
struct ClientWishes {
    std::string export_name;
    ReplyForm replies_max = ReplyForm::extended;  // the server may give less
    bool allocation = false;                      // block status
    bool tls = false;                             // a server without TLS is refused
};

class ClientHandshake {
  public:
    /// Messages that a server may send in answer to all options together.
    static constexpr unsigned replies_max = 256;
    /// The longest data of one message. Each message that the handshake needs is shorter.
    static constexpr uint32_t reply_bytes_max = 2 * string_bytes_max;

    explicit ClientHandshake(ClientWishes wishes);
    ClientHandshake& operator=(ClientHandshake&&) = delete;

    enum class Next : uint8_t { go_on, start_tls, transmission, failed };

    struct Step {
        std::span<const std::byte> send;  // valid until the next feed()
        Next next = Next::go_on;
    };

    /// After Next::start_tls, when all further bytes are encrypted: the next question.
    [[nodiscard]] Step go_on_in_tls();

    /// The number of bytes to read next; 0 after the end, and while TLS is to be started.
    [[nodiscard]] size_t wanted() const { return missing_; }
    /// Takes the next bytes of the stream, 1 to wanted().
    [[nodiscard]] Step feed(std::span<const std::byte> bytes);

    /// After Next::transmission.
    [[nodiscard]] const RemoteExport& remote() const { return remote_; }
    /// After Next::failed: the reason.
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    enum class State : uint8_t {
        greeting,
        reply_header,
        reply_data,
        export_name,
        starting_tls,
        ended
    };

    void expect(State state, size_t bytes);
    Step take_message();
    Step take_greeting();
    Step take_reply_header();
    Step take_reply();
    Step take_refusal();
    Step take_info();
    Step take_context();
    Step take_export();
    Step after(Option option);
    Step ask(Option option, std::span<const std::byte> data = {});
    Step ask_for_form();
    Step ask_for_context();
    Step ask_for_export();
    Step ask_by_name();
    Step go_on();
    Step fail(std::string why);
    Step end();

    const ClientWishes wishes_;
    State state_ = State::greeting;
    size_t missing_ = greeting_bytes;
    std::vector<std::byte> in_;   // of the message being read
    std::vector<std::byte> out_;  // of the current step
    uint16_t server_flags_ = 0;
    unsigned replies_ = 0;
    Option asked_{};
    OptionReply reply_{};
    bool has_export_ = false;
    RemoteExport remote_;
    std::string failure_;
};

}  // namespace blkscope::nbd
