// Negotiation: moves a client's handshake between its socket and the state machine, which has all
// the rules. Reads exactly the bytes that the machine wants, so nothing of the next phase is ever
// taken in early, and gives up when the deadline passes. Once TLS has begun, what was read early is
// ciphertext, and stays in the session, which goes to the worker with the socket.
//
// Ownership: shared by its pending operations; the server holds it too, to be able to stop it.
// Threads:   the control thread.
#pragma once

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/tls/tls.hpp"

namespace blkscope::nbd {

class Server;
class TlsSession;

class Negotiation : public std::enable_shared_from_this<Negotiation> {
  public:
    using Socket = boost::asio::generic::stream_protocol::socket;

    /// Without a `tls` there is none.
    Negotiation(Server& server, const Exports& names, std::shared_ptr<const TlsContext> tls,
                ReplyForm replies_max, Socket socket);
    ~Negotiation();

    void start(std::chrono::milliseconds deadline);

    /// Closes the socket; the server hears nothing of it any more.
    void stop();

  private:
    void read();
    void step();
    void write(std::span<const std::byte> bytes, Step::Next next);
    void written(Step::Next next);
    void hand_over();
    void end();
    void log(std::string_view what);

    void start_tls();
    void shake_hands();
    void refuse_long_handshake();
    void fail_tls();
    void read_decrypted();
    void write_encrypted(std::span<const std::byte> bytes, Step::Next next);
    template <class Then>
    void receive_encrypted(Then then);
    template <class Then>
    void flush(Then then);

    Server* server_;
    Socket socket_;
    boost::asio::steady_timer deadline_;
    std::shared_ptr<const TlsContext> tls_context_;
    std::unique_ptr<TlsSession> tls_;  // from STARTTLS on
    size_t tls_bytes_ = 0;             // of ciphertext received
    Handshake handshake_;
    std::array<std::byte, greeting_bytes> greeting_;
    std::vector<std::byte> received_;
    uint64_t export_serial_ = 0;  // what it asked for; the export may have gone since
    Terms terms_;
};

}  // namespace blkscope::nbd
