// Negotiation: moves a client's handshake between its socket and the state machine, which has all
// the rules. Reads exactly the bytes that the machine wants, so nothing of the next phase is ever
// taken in early, and gives up when the deadline passes.
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

#include "driver/nbd/handshake.hpp"

namespace blkscope::nbd {

class Server;

class Negotiation : public std::enable_shared_from_this<Negotiation> {
  public:
    using Socket = boost::asio::generic::stream_protocol::socket;

    Negotiation(Server& server, const Exports& names, Socket socket);

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

    Server* server_;
    Socket socket_;
    boost::asio::steady_timer deadline_;
    Handshake handshake_;
    std::array<std::byte, greeting_bytes> greeting_;
    std::vector<std::byte> received_;
    uint64_t export_serial_ = 0;  // what it asked for; the export may have gone since
    Terms terms_;
};

}  // namespace blkscope::nbd
