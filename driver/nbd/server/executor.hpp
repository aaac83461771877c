// Executor: what the control side runs on: one thread that makes calls, timers, stream sockets and
// listening sockets.
//
//     Server, Listener, Reception, Negotiation
//          │ post, start, async_read_some, async_write, async_accept
//          ▼
//     Executor ◀── AsioExecutor: an io_context, real sockets, real time
//              ◀── a simulator:  one thread, simulated sockets, virtual time
//
// An operation makes one call when it is done, always later and never within the function that
// began it. Closing a socket, cancelling a timer and destroying either drops the calls that are
// due: they are destroyed, and never made. A call may close or destroy the object that makes it.
//
// Units:     bytes; errors are errno numbers.
// Ownership: an executor outlives what it made. A buffer stays until the operation's call has been
//            made or destroyed, so a call that owns the buffer is enough.
// Threads:   one, but for post(), which any thread may call.
// Errors:    as each function says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "driver/nbd/server/peer.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

/// An alarm, one at a time.
class Timer {
  public:
    virtual ~Timer() = default;

    /// Makes the call once, after that time. A call that was due is dropped.
    virtual void start(std::chrono::nanoseconds after, std::function<void()> call) = 0;
    virtual void cancel() = 0;
};

/// A connected stream socket. At most one read and one write are under way.
class StreamSocket {
  public:
    /// Bytes, 0 at the end of the stream, or -errno.
    using Received = std::function<void(int32_t result)>;
    /// 0, or the errno with which not all could be sent.
    using Sent = std::function<void(int error)>;

    virtual ~StreamSocket() = default;

    /// Receives at least one byte and at most what `to` has room for, which is something.
    virtual void async_read_some(std::span<std::byte> to, Received received) = 0;
    /// Sends all of `bytes`, which are some.
    virtual void async_write(std::span<const std::byte> bytes, Sent sent) = 0;
    /// The next async_write() is the last. Without effect where the transport has no farewell.
    virtual void set_last_write() {}

    /// Small replies do not wait for more; a client whose machine is gone loses its place. Without
    /// effect where the transport has no such option.
    virtual void set_transmission_options() = 0;

    /// The descriptor for a worker, in blocking mode, which the caller owns from here; -errno if
    /// that cannot be had. The socket is closed afterwards.
    [[nodiscard]] virtual int release() = 0;
    /// Again is allowed.
    virtual void close() = 0;

    /// The client, as found when the connection came: known after it has gone, too.
    [[nodiscard]] virtual const Peer& peer() const = 0;
};

/// A socket that listens.
class Acceptor {
  public:
    /// `error` is 0 with a socket, else an errno without one.
    using Accepted = std::function<void(int error, std::unique_ptr<StreamSocket> socket)>;

    virtual ~Acceptor() = default;

    virtual void async_accept(Accepted accepted) = 0;

    /// For when async_accept() has said that there are no descriptors left (EMFILE, ENFILE): the
    /// first connection in the queue, by the one descriptor that is kept for that. Null if there
    /// is no connection, or none of them can be had so. restore_spare() follows.
    [[nodiscard]] virtual std::unique_ptr<StreamSocket> accept_with_spare() = 0;
    /// Keeps a descriptor again, if there is one now.
    virtual void restore_spare() = 0;

    /// Removes the socket's file if this listener made it. Again is allowed.
    virtual void close() = 0;

    /// Where clients find it, without an export's name.
    [[nodiscard]] virtual const Uri& address() const = 0;
};

class Executor {
  public:
    using Time = std::chrono::steady_clock::time_point;

    virtual ~Executor() = default;

    /// Makes the call on the executor's thread; from any thread.
    virtual void post(std::function<void()> call) = 0;

    /// Does not go back.
    [[nodiscard]] virtual Time now() const = 0;

    [[nodiscard]] virtual std::unique_ptr<Timer> make_timer() = 0;

    /// Takes over a connected stream socket.
    [[nodiscard]] virtual std::unique_ptr<StreamSocket> take_socket(int descriptor) = 0;

    /// These throw std::system_error, or std::invalid_argument for an address or a descriptor that
    /// is none. A stale socket at `path` is replaced; one that answers is not (EADDRINUSE).
    [[nodiscard]] virtual std::unique_ptr<Acceptor> listen_unix(const std::string& path) = 0;
    /// `port` 0 takes a free one.
    [[nodiscard]] virtual std::unique_ptr<Acceptor> listen_tcp(const std::string& address,
                                                               uint16_t port) = 0;
    /// Takes over a socket that listens already; not if it throws.
    [[nodiscard]] virtual std::unique_ptr<Acceptor> listen_on(int descriptor) = 0;
};

}  // namespace blkscope::nbd
