// A small HTTP server: one thread, one epoll, bounded memory.
//
//     accept ──▶ reading ──a whole head──▶ writing ──▶ reading (keep-alive)
//                   │                         │
//                   │ time is over            ├──▶ streaming: an event a second
//                   ▼                         │
//                 closed ◀────── draining ◀───┘  after an error or a last reply
//
// The cost of a client is bounded:
//     connections      connections_max; the one that has been silent longest makes room
//     a head           8 KiB, and head_time from its first byte
//     a reply          reply_time; equal replies of one turn share their body
//     all bodies       bodies_bytes_max; the slowest clients are closed first
//     a stream         one event: a client that is slow misses events; streams_max of them
//
// A client of TLS has two more buffers, of 64 and 128 KiB. Its handshake is within the time of a head.
//
// Ownership: owns its sockets; borrows the handler.
// Threads:   one, that of run(). stop() may be called by any thread and by a signal handler.
// Errors:    the constructor throws std::system_error. A client's failure ends that client only.
// Source:    epoll(7), RFC 9112.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/descriptor.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "tools/web/request.hpp"
#include "tools/web/response.hpp"

namespace blkscope::web {

/// The owner of a server, which makes the replies.
class Handler {
  public:
    virtual ~Handler() = default;
    [[nodiscard]] virtual Response respond(const Request& request) = 0;
    /// The next event, for all streams.
    [[nodiscard]] virtual Body event() = 0;
    /// Called after each turn of the loop that called respond() or event().
    virtual void end_turn() = 0;
};

struct ServerLimits {
    size_t connections_max = 256;
    size_t streams_max = 100;
    size_t bodies_bytes_max = size_t{64} << 20;
    std::chrono::milliseconds head_time{5000};
    std::chrono::milliseconds idle_time{30'000};  // between two requests of a client
    std::chrono::milliseconds reply_time{30'000};
    std::chrono::milliseconds drain_time{1000};
    std::chrono::milliseconds stall_time{10'000};  // of a stream whose client reads nothing
    std::chrono::milliseconds event_interval{1000};
};

class Server {
  public:
    /// `listener` is a socket that listens. With `tls`, all clients must speak TLS.
    Server(Descriptor listener, Handler& handler, const ServerLimits& limits = {},
           std::shared_ptr<const nbd::TlsContext> tls = nullptr);
    ~Server();
    Server& operator=(Server&&) = delete;

    /// Serves until stop(). When `told`, a descriptor, can be read, calls `obey`, which reads it and
    /// says whether to go on. -1: there is none.
    void run(int told = -1, const std::function<bool()>& obey = {});

    /// The certificates and rules of the clients that come from now on, if the server has TLS.
    void use(std::shared_ptr<const nbd::TlsContext> tls);

    void stop() const;

  private:
    class Loop;

    std::unique_ptr<Loop> loop_;
};

}  // namespace blkscope::web
