// Negotiation: moves the bytes of a client's handshake between its socket and a Handshake.
//
// The negotiation never reads more than Handshake::wanted(), so bytes of the next phase stay in the
// socket. A deadline limits the time.
//
// After STARTTLS the socket is a TlsStream. Bytes read too early are then ciphertext in the TLS
// session, which goes to the worker with the socket.
//
// Ownership: shared by its pending operations and by the host, which can stop it.
// Threads:   the control thread.
// Errors:    none to its host. A client's failure ends the negotiation, and is logged if useful.
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
    /// The class that begins negotiations and gets the results. After start(), either negotiated()
    /// or ended() is called once, unless stop() was called before.
    class Host {
      public:
        virtual ~Host() = default;
        /// The handshake has succeeded. The host owns `socket` and `tls` from here; `tls` is null
        /// without TLS.
        virtual void negotiated(Negotiation& negotiation, uint64_t export_serial,
                                const Terms& terms, int socket,
                                std::unique_ptr<TlsSession> tls) = 0;
        virtual void ended(Negotiation& negotiation) = 0;
        /// The serial number of the export with this index in the list of names.
        [[nodiscard]] virtual uint64_t serial_of(size_t export_index) const = 0;
        virtual void log(std::string_view line) = 0;
    };

    /// The parameters offered to clients. The names may change during a handshake.
    struct Offer {
        const Exports& names;
        std::shared_ptr<const TlsContext> tls = {};  // null for no TLS
        ReplyForm replies_max = ReplyForm::extended;
    };

    /// `number` identifies the negotiation to the host.
    Negotiation(Host& host, Executor& executor, Offer offer, std::unique_ptr<StreamSocket> socket,
                uint64_t number = 0);
    ~Negotiation();
    Negotiation& operator=(Negotiation&&) = delete;

    void start(std::chrono::milliseconds deadline);

    /// Closes the socket. The host gets no further call.
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
    std::unique_ptr<TlsSession> tls_;       // set by STARTTLS
    std::unique_ptr<StreamSocket> socket_;  // a TlsStream after STARTTLS
    std::unique_ptr<Timer> deadline_;
    std::shared_ptr<const TlsContext> tls_context_;
    Handshake handshake_;
    std::array<std::byte, greeting_bytes> greeting_;
    std::vector<std::byte> received_;
    size_t received_bytes_ = 0;   // the received part of received_
    uint64_t export_serial_ = 0;  // the export that the client asked for; may be closed since
    Terms terms_;
};

}  // namespace blkscope::nbd
