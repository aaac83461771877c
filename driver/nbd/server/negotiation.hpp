// Negotiation: moves a client's handshake between its socket and the state machine, which has all
// the rules. Reads exactly the bytes that the machine wants, so nothing of the next phase is ever
// taken in early, and gives up when the deadline passes. Once TLS has begun, the socket is a
// TlsStream. What was read early is ciphertext then, and stays in the session, which goes to the
// worker with the socket.
//
// Ownership: shared by its pending operations; the host holds it too, to be able to stop it.
// Threads:   the control thread.
// Errors:    none to its host: a client's failure is logged where it says something, and ends it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/server/executor.hpp"
#include "driver/nbd/tls/tls.hpp"

namespace blkscope::nbd {

class TlsSession;

class Negotiation : public std::enable_shared_from_this<Negotiation> {
  public:
    /// The part that begins negotiations and hears what comes of them. One of negotiated() and
    /// ended() is called, once and last, unless stop() came before.
    class Host {
      public:
        virtual ~Host() = default;
        /// The descriptor and the session, which is null without TLS, are the host's from here.
        virtual void negotiated(Negotiation& negotiation, uint64_t export_serial,
                                const Terms& terms, int socket,
                                std::unique_ptr<TlsSession> tls) = 0;
        virtual void ended(Negotiation& negotiation) = 0;
        /// Of the export at this place in the list of names.
        [[nodiscard]] virtual uint64_t serial_of(size_t export_index) const = 0;
        virtual void log(std::string_view line) = 0;
    };

    /// The offer to clients. The names may change while a handshake is under way.
    struct Offer {
        const Exports& names;
        std::shared_ptr<const TlsContext> tls = {};  // without one there is none
        ReplyForm replies_max = ReplyForm::extended;
    };

    /// `number` is for the host to know it by.
    Negotiation(Host& host, Executor& executor, Offer offer, std::unique_ptr<StreamSocket> socket,
                uint64_t number = 0);
    ~Negotiation();
    Negotiation(const Negotiation&) = delete;
    Negotiation& operator=(const Negotiation&) = delete;

    void start(std::chrono::milliseconds deadline);

    /// Closes the socket; the host hears nothing of it any more.
    void stop();

    [[nodiscard]] uint64_t number() const { return number_; }
    [[nodiscard]] const Peer& peer() const { return socket_->peer(); }

  private:
    [[nodiscard]] bool stopped() const { return host_ == nullptr; }
    void read();
    void receive();
    void step();
    void write(std::span<const std::byte> bytes, Step::Next next);
    void written(Step::Next next);
    void hand_over();
    void end();
    void log(std::string_view what);

    void start_tls();
    void log_tls(std::string_view what);

    Host* host_;  // nullptr once stopped
    uint64_t number_;
    std::unique_ptr<TlsSession> tls_;       // from STARTTLS on
    std::unique_ptr<StreamSocket> socket_;  // from STARTTLS on a TlsStream
    std::unique_ptr<Timer> deadline_;
    std::shared_ptr<const TlsContext> tls_context_;
    Handshake handshake_;
    std::array<std::byte, greeting_bytes> greeting_;
    std::vector<std::byte> received_;
    size_t received_bytes_ = 0;   // of received_; the rest has to come
    uint64_t export_serial_ = 0;  // what it asked for; the export may have gone since
    Terms terms_;
};

}  // namespace blkscope::nbd
