// Listener: one listening socket, and how each kind of it is made.
//
// Ownership: shared by its pending operations; the server holds it too, to be able to stop it. It
//            removes the socket file that it made, and none that was given to it.
// Threads:   the control thread.
// Errors:    making one throws std::system_error, or std::invalid_argument for an address or a
//            descriptor that is none.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

class Server;

class Listener : public std::enable_shared_from_this<Listener> {
  public:
    using Protocol = boost::asio::generic::stream_protocol;
    using Acceptor = boost::asio::basic_socket_acceptor<Protocol>;

    /// A stale socket at `path` is replaced; one that answers is not (EADDRINUSE).
    static std::shared_ptr<Listener> on_unix(boost::asio::io_context& io, const std::string& path);
    /// `port` 0 takes a free one.
    static std::shared_ptr<Listener> on_tcp(boost::asio::io_context& io, const std::string& address,
                                            uint16_t port);
    /// Takes over a socket that listens already; not if it throws.
    static std::shared_ptr<Listener> on_descriptor(boost::asio::io_context& io, int socket);

    Listener(Acceptor acceptor, Uri address, std::string path);

    /// From now on `server` gets the clients that come.
    void start(Server& server);
    void stop();

    /// Where clients find it, without an export's name.
    [[nodiscard]] const Uri& address() const { return address_; }

  private:
    void accept();
    void accepted(boost::system::error_code error, Protocol::socket socket);

    Server* server_ = nullptr;
    Acceptor acceptor_;
    boost::asio::steady_timer pause_;
    Uri address_;
    std::string path_;  // of a Unix socket that is ours to remove
};

}  // namespace blkscope::nbd
