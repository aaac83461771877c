// Executor: the interface on which the control thread runs: calls, timers, stream sockets and
// listening sockets.
//
//     Server, Listener, Reception, Negotiation
//          │ post, start, async_read_some, async_write, async_accept
//          ▼
//     Executor ◀── AsioExecutor: an io_context, real sockets, real time
//              ◀── a simulator:  one thread, simulated sockets, virtual time
//
// An operation makes one call when it is done. The call comes later, never from the function that
// began the operation. Closing a socket, cancelling a timer or destroying either drops the pending
// calls: each is destroyed without being made. A call may close or destroy the object that makes
// it.
//
// Units:     bytes; errors are errno numbers.
// Ownership: an executor outlives the objects that it made. A buffer must stay valid until the
//            operation's call was made or destroyed. A call that owns the buffer ensures this.
// Threads:   a single one, but any thread may call post().
// Errors:    as each function says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "driver/nbd/server/peer.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

/// A timer with at most one pending call.
class Timer {
  public:
    virtual ~Timer() = default;

    /// Makes `call` once, after that time. Drops an earlier pending call.
    virtual void start(std::chrono::nanoseconds after, std::function<void()> call) = 0;
    virtual void cancel() = 0;
};

/// A connected stream socket. At most one read and one write may be under way.
class StreamSocket {
  public:
    /// `result`: bytes, 0 at the end of the stream, or -errno.
    using Received = std::function<void(int32_t result)>;
    /// `error`: 0, or the errno if some bytes could not be sent.
    using Sent = std::function<void(int error)>;

    virtual ~StreamSocket() = default;

    /// Receives at least one byte and at most the size of `to`, which is not empty.
    virtual void async_read_some(std::span<std::byte> to, Received received) = 0;
    /// Sends all of `bytes`, at least one.
    virtual void async_write(std::span<const std::byte> bytes, Sent sent) = 0;
    /// Announces that the next async_write() is the last. Without effect on a plain socket.
    virtual void set_last_write() {}

    /// Sends small replies at once, and detects a client whose machine has failed. Without effect
    /// where the transport has no such option.
    virtual void set_transmission_options() = 0;

    /// Closes the object and returns its descriptor in blocking mode, which the caller owns.
    [[nodiscard]] virtual Result<int> release() = 0;
    /// Closes the socket. May be called again.
    virtual void close() = 0;

    /// The client, as found at the start of the connection. Valid after the client has closed, too.
    [[nodiscard]] virtual const Peer& peer() const = 0;
};

/// A listening socket.
class Acceptor {
  public:
    /// The socket is never null.
    using Accepted = std::function<void(Result<std::unique_ptr<StreamSocket>> socket)>;

    virtual ~Acceptor() = default;

    virtual void async_accept(Accepted accepted) = 0;

    /// Accepts the first connection in the queue by closing the spare descriptor. Call after
    /// async_accept() has failed with EMFILE or ENFILE, then call restore_spare(). Null if there is
    /// no connection or no descriptor.
    [[nodiscard]] virtual std::unique_ptr<StreamSocket> accept_with_spare() = 0;
    /// Opens the spare descriptor again if possible.
    virtual void restore_spare() = 0;

    /// Closes the socket and removes the file that listen_unix() made, if its path still has that
    /// file. May be called again.
    virtual void close() = 0;

    /// The URI of the socket, without an export's name.
    [[nodiscard]] virtual const Uri& address() const = 0;
};

class Executor {
  public:
    using Time = std::chrono::steady_clock::time_point;

    virtual ~Executor() = default;

    /// Makes the call on the executor's thread. Any thread may post.
    virtual void post(std::function<void()> call) = 0;

    /// The time; never decreases.
    [[nodiscard]] virtual Time now() const = 0;

    [[nodiscard]] virtual std::unique_ptr<Timer> make_timer() = 0;

    /// Takes over a connected stream socket.
    [[nodiscard]] virtual std::unique_ptr<StreamSocket> take_socket(int descriptor) = 0;

    /// The next three throw std::system_error, or std::invalid_argument for a wrong address or
    /// descriptor. A stale socket at `path` is replaced; a socket in use is not (EADDRINUSE).
    [[nodiscard]] virtual std::unique_ptr<Acceptor> listen_unix(const std::string& path) = 0;
    /// `port` 0 means a free port.
    [[nodiscard]] virtual std::unique_ptr<Acceptor> listen_tcp(const std::string& address,
                                                               uint16_t port) = 0;
    /// Takes over a listening socket, unless it throws.
    [[nodiscard]] virtual std::unique_ptr<Acceptor> listen_on(int descriptor) = 0;
};

}  // namespace blkscope::nbd
