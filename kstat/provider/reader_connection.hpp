// One reader's connection to this provider.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "kstat/provider/fork.hpp"
#include "kstat/provider/requests.hpp"
#include "kstat/provider/server.hpp"

namespace blkscope::kstat {

class ReaderConnection : public std::enable_shared_from_this<ReaderConnection> {
  public:
    using Socket = boost::asio::local::stream_protocol::socket;
    using Place = std::list<std::shared_ptr<ReaderConnection>>::iterator;

    ReaderConnection(Socket socket, std::weak_ptr<Server> server, Session session, uid_t user);

    void start() { receive(); }
    void close();

    /// True if a request or a reply has been incomplete for longer than `patience`.
    bool is_stuck(std::chrono::steady_clock::time_point now,
                  std::chrono::steady_clock::duration patience) const;

    /// The user of the reader's process.
    uid_t user() const { return user_; }

    /// The connection's place in the server's list.
    Place place;

  private:
    void receive();
    void received(size_t count);
    bool answer_next();
    void send();
    void sent();
    void end();

    Socket socket_;
    std::optional<NotInherited> not_inherited_;  // until the socket is closed
    std::weak_ptr<Server> server_;
    Session session_;
    uid_t user_;
    std::vector<std::byte> in_;
    size_t in_size_ = 0;
    Answer out_;
    std::optional<std::chrono::steady_clock::time_point> half_way_since_;
};

}  // namespace blkscope::kstat
