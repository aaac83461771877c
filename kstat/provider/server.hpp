// Serves the chain on `<pid>.sock` in the run directory.
//
// Callbacks run on one thread. A connection has one request or one reply at a time, never both. The
// memory that a reader can occupy is therefore bounded. The server closes a connection that stops
// in the middle of either. With too many connections, the server closes one of the user who has the
// most: the one idle the longest. The server does the same without a free descriptor. The reader
// reconnects and is recognised. So a user cannot close another user's connections by opening many.
//
// Few connections wait to be accepted. With more of them, connect(2) waits for its turn. So a
// process with a loop of connects delays another process by one connection, not by thousands.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "kstat/provider/fork.hpp"

namespace blkscope::kstat {

class ReaderConnection;

class Server : public std::enable_shared_from_this<Server> {
  public:
    static constexpr size_t connections_max = 256;
    static constexpr int waiting_max = 64;
    /// Limit of the time that a reader may take for one request or one reply.
    static constexpr auto patience = std::chrono::seconds(10);

    /// Binds and listens; sweeps dead providers' sockets. Throws std::system_error.
    explicit Server(boost::asio::io_context& io);
    ~Server();
    Server& operator=(Server&&) = delete;

    /// Starts to accept. Pending callbacks keep the server allocated.
    void start();

    /// Closes every connection and removes the socket.
    void close();

    /// Called by a connection after a use, or at its end.
    void was_used(ReaderConnection& connection);
    void ended(ReaderConnection& connection);

  private:
    using Protocol = boost::asio::local::stream_protocol;

    void bind();
    void sweep();
    void accept();
    bool accept_next();
    void welcome(Protocol::socket socket);
    void end_one_for(uid_t newcomer);
    void look_around_later();
    void look_around();
    void remove_socket_file();

    Descriptor directory_;
    pid_t owner_;
    std::string name_;
    uint64_t identity_;
    Protocol::acceptor acceptor_;
    std::unique_ptr<NotInherited> not_inherited_;
    boost::asio::steady_timer timer_;
    bool timer_runs_ = false;
    bool accepting_ = false;
    bool bound_ = false;
    std::list<std::shared_ptr<ReaderConnection>> connections_;  // the longest idle first
};

}  // namespace blkscope::kstat
