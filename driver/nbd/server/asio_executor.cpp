// Each object here shares its Asio object with pending handlers. A handler may run once more after
// the owner was closed; it then drops its call.
#include "driver/nbd/server/asio_executor.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/throw_errno.hpp"
#include "base/vanished_peer.hpp"
#include "driver/nbd/server/listening_socket.hpp"

namespace blkscope::nbd {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Protocol = asio::generic::stream_protocol;

// Of Asio's own errors only the end of a stream occurs here. All others are the system's.
int errno_of(const error_code& error) {
    assert(error);
    return error.category() == boost::system::system_category() ? error.value() : EPIPE;
}

Protocol protocol_of(int family) {
    return Protocol(family, family == AF_UNIX ? 0 : IPPROTO_TCP);
}

// ---- Timer ----

class AsioTimer final : public Timer {
  public:
    explicit AsioTimer(asio::io_context& io) : state_(std::make_shared<State>(io)) {}
    // NOLINTNEXTLINE(bugprone-exception-escape): cancelling a steady_timer always succeeds
    ~AsioTimer() override { AsioTimer::cancel(); }
    AsioTimer& operator=(AsioTimer&&) = delete;

    void start(std::chrono::nanoseconds after, std::function<void()> call) override {
        assert(call != nullptr);
        cancel();
        state_->timer.expires_after(after);
        state_->timer.async_wait(
            [state = state_, alarm = state_->alarm, call = std::move(call)](error_code error) {
                if (!error && alarm == state->alarm) call();
            });
    }

    // Asio does not cancel a handler that is already queued.
    void cancel() override {
        ++state_->alarm;
        state_->timer.cancel();
    }

  private:
    struct State {
        explicit State(asio::io_context& io) : timer(io) {}
        asio::steady_timer timer;
        uint64_t alarm = 0;  // counts starts and cancellations
    };
    std::shared_ptr<State> state_;
};

// ---- StreamSocket ----

class AsioSocket final : public StreamSocket {
  public:
    // Takes over the descriptor, unless it throws.
    AsioSocket(asio::io_context& io, int family, int descriptor, Peer peer)
        : state_(std::make_shared<State>(io, family, descriptor)), peer_(std::move(peer)) {}
    ~AsioSocket() override { AsioSocket::close(); }
    AsioSocket& operator=(AsioSocket&&) = delete;

    void async_read_some(std::span<std::byte> to, Received received) override {
        assert(!to.empty());
        assert(!state_->reading);
        assert(!state_->closed);
        state_->reading = true;
        state_->socket.async_read_some(
            asio::buffer(to.data(), to.size()),
            [state = state_, received = std::move(received)](error_code error, size_t bytes) {
                state->reading = false;
                if (state->closed) return;
                if (error == asio::error::eof) return received(0);
                received(error ? -errno_of(error) : static_cast<int32_t>(bytes));
            });
    }

    void async_write(std::span<const std::byte> bytes, Sent sent) override {
        assert(!bytes.empty());
        assert(!state_->writing);
        assert(!state_->closed);
        state_->writing = true;
        asio::async_write(state_->socket, asio::buffer(bytes.data(), bytes.size()),
                          [state = state_, sent = std::move(sent)](error_code error, size_t) {
                              state->writing = false;
                              if (!state->closed) sent(error ? errno_of(error) : 0);
                          });
    }

    void set_transmission_options() override {
        const int on = 1;
        const int socket = state_->socket.native_handle();
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        end_with_vanished_peer(socket);
    }

    // A worker's operations wait in the kernel, not in a thread. A non-blocking socket would fail
    // them with EAGAIN.
    Result<int> release() override {
        assert(!state_->closed);
        assert(!state_->reading);
        assert(!state_->writing);
        state_->closed = true;
        error_code error;
        const int socket = state_->socket.release(error);
        if (error) {
            state_->socket.close(error);
            return os_error(EBADF);
        }
        const int flags = ::fcntl(socket, F_GETFL);
        if (flags >= 0 && ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0) return socket;
        const int why = errno;
        ::close(socket);
        return os_error(why);
    }

    void close() override {
        state_->closed = true;
        error_code ignored;
        state_->socket.close(ignored);
    }

    const Peer& peer() const override { return peer_; }

  private:
    struct State {
        State(asio::io_context& io, int family, int descriptor)
            : socket(io, protocol_of(family), descriptor) {}
        Protocol::socket socket;
        bool closed = false;
        bool reading = false;
        bool writing = false;
    };
    std::shared_ptr<State> state_;
    Peer peer_;
};

// ---- Acceptor ----

class AsioAcceptor final : public Acceptor {
  public:
    // Takes over the descriptor, unless it throws.
    AsioAcceptor(asio::io_context& io, std::shared_ptr<SpareDescriptor> spare,
                 const ListeningSocket& listening)
        : state_(std::make_shared<State>(io)),
          spare_(std::move(spare)),
          address_(listening.address),
          file_(listening.file) {
        sockaddr_storage self{};
        socklen_t bytes = sizeof self;
        getsockname(listening.descriptor, reinterpret_cast<sockaddr*>(&self), &bytes);
        state_->acceptor.assign(protocol_of(self.ss_family), listening.descriptor);
        error_code ignored;
        state_->acceptor.native_non_blocking(true, ignored);
    }
    ~AsioAcceptor() override { AsioAcceptor::close(); }
    AsioAcceptor& operator=(AsioAcceptor&&) = delete;

    void async_accept(Accepted accepted) override {
        assert(!state_->closed);
        wait(state_, std::move(accepted));
    }

    std::unique_ptr<StreamSocket> accept_with_spare() override {
        assert(!state_->closed);
        if (!spare_->close()) return nullptr;
        auto socket = accept(*state_);
        return socket ? std::move(*socket) : nullptr;
    }

    void restore_spare() override { spare_->restore(); }

    void close() override {
        if (state_->closed) return;
        state_->closed = true;
        remove_socket_file(file_);
        error_code ignored;
        state_->acceptor.close(ignored);
    }

    const Uri& address() const override { return address_; }

  private:
    struct State {
        explicit State(asio::io_context& context) : io(context), acceptor(context) {}
        asio::io_context& io;
        asio::basic_socket_acceptor<Protocol> acceptor;
        bool closed = false;
    };

    // Asio's own accept does not set close-on-exec.
    static void wait(const std::shared_ptr<State>& state, Accepted accepted) {
        state->acceptor.async_wait(
            asio::socket_base::wait_read,
            [state, accepted = std::move(accepted)](error_code error) mutable {
                if (state->closed) return;
                if (error) return accepted(os_error(errno_of(error)));
                accept(state, std::move(accepted));
            });
    }

    static void accept(const std::shared_ptr<State>& state, Accepted accepted) {
        auto socket = accept(*state);
        const int error = socket ? 0 : socket.error().value();
        // The client closed while it was in the queue.
        const bool again = error == EAGAIN || error == EINTR || error == ECONNABORTED;
        if (again) return wait(state, std::move(accepted));
        accepted(std::move(socket));
    }

    static Result<std::unique_ptr<StreamSocket>> accept(State& state) {
        sockaddr_storage from{};
        socklen_t bytes = sizeof from;
        const int socket =
            ::accept4(state.acceptor.native_handle(), reinterpret_cast<sockaddr*>(&from), &bytes,
                      SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0) return os_error(errno);
        // A Unix client may have no address, but always has credentials.
        const bool local = from.ss_family != AF_INET && from.ss_family != AF_INET6;
        try {
            return std::unique_ptr<StreamSocket>(
                std::make_unique<AsioSocket>(state.io, local ? AF_UNIX : from.ss_family, socket,
                                             local ? Peer::of(socket) : Peer::of_address(from)));
        } catch (const boost::system::system_error& failure) {
            ::close(socket);
            return os_error(errno_of(failure.code()));
        }
    }

    std::shared_ptr<State> state_;
    std::shared_ptr<SpareDescriptor> spare_;
    Uri address_;
    SocketFile file_;
};

[[noreturn]] void rethrow(const boost::system::system_error& failure, const std::string& what) {
    throw_errno(what, errno_of(failure.code()));
}

// For a socket that this program has made.
std::unique_ptr<Acceptor> own(asio::io_context& io, std::shared_ptr<SpareDescriptor> spare,
                              const ListeningSocket& listening) {
    try {
        return std::make_unique<AsioAcceptor>(io, std::move(spare), listening);
    } catch (const boost::system::system_error& failure) {
        ::close(listening.descriptor);
        rethrow(failure, "listen on " + listening.address.text());
    }
}

}  // namespace

void AsioExecutor::post(std::function<void()> call) {
    assert(call != nullptr);
    asio::post(io_, std::move(call));
}

std::unique_ptr<Timer> AsioExecutor::make_timer() {
    return std::make_unique<AsioTimer>(io_);
}

std::unique_ptr<StreamSocket> AsioExecutor::take_socket(int descriptor) {
    sockaddr_storage self{};
    socklen_t bytes = sizeof self;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&self), &bytes);
    return std::make_unique<AsioSocket>(io_, self.ss_family, descriptor, Peer::of(descriptor));
}

std::unique_ptr<Acceptor> AsioExecutor::listen_unix(const std::string& path) {
    return own(io_, spare_, listening_unix_socket(path));
}

std::unique_ptr<Acceptor> AsioExecutor::listen_tcp(const std::string& address, uint16_t port) {
    return own(io_, spare_, listening_tcp_socket(address, port));
}

std::unique_ptr<Acceptor> AsioExecutor::listen_on(int descriptor) {
    try {
        return std::make_unique<AsioAcceptor>(io_, spare_, given_listening_socket(descriptor));
    } catch (const boost::system::system_error& failure) {
        rethrow(failure, "listen on descriptor " + std::to_string(descriptor));
    }
}

}  // namespace blkscope::nbd
