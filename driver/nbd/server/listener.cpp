#include "driver/nbd/server/listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "driver/nbd/server/server.hpp"

namespace blkscope::nbd {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// After a failure to accept that will not go away at once (no descriptors left).
constexpr std::chrono::milliseconds accept_pause{100};

[[noreturn]] void fail(const error_code& error, const std::string& what) {
    throw std::system_error(error.value(), std::generic_category(), what);
}

// Removes a socket that nobody answers on: its server was killed.
void remove_stale_socket(asio::io_context& io, const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
    asio::local::stream_protocol::socket probe(io);
    error_code error;
    probe.connect(asio::local::stream_protocol::endpoint(path), error);
    if (error == boost::system::errc::connection_refused) ::unlink(path.c_str());
}

int socket_option(int socket, int option) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

// A socket in the abstract namespace, or one without a name, has no file; its URI names none.
Uri unix_address(const sockaddr_storage& address, socklen_t bytes) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(address);
    if (bytes <= offsetof(sockaddr_un, sun_path)) return {};
    return {.socket_path = local.sun_path};
}

Uri tcp_address(const sockaddr_storage& address, socklen_t bytes) {
    asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &address, bytes);
    return {.host = endpoint.address().to_string(), .port = endpoint.port()};
}

}  // namespace

Listener::Listener(Acceptor acceptor, Uri address, std::string path)
    : acceptor_(std::move(acceptor)),
      pause_(acceptor_.get_executor()),
      address_(std::move(address)),
      path_(std::move(path)) {}

std::shared_ptr<Listener> Listener::on_unix(asio::io_context& io, const std::string& path) {
    const std::string what = "listen on " + path;
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
        throw std::system_error(ENAMETOOLONG, std::generic_category(), what);
    }
    remove_stale_socket(io, path);
    asio::basic_socket_acceptor<asio::local::stream_protocol> acceptor(io);
    error_code error;
    acceptor.open({}, error);
    if (!error) acceptor.bind(asio::local::stream_protocol::endpoint(path), error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) fail(error, what);
    return std::make_shared<Listener>(Acceptor(std::move(acceptor)), Uri{.socket_path = path},
                                      path);
}

std::shared_ptr<Listener> Listener::on_tcp(asio::io_context& io, const std::string& address,
                                           uint16_t port) {
    const std::string what = "listen on " + address + " port " + std::to_string(port);
    error_code error;
    const auto ip = asio::ip::make_address(address, error);
    if (error) {
        throw std::invalid_argument(what + ": not an IP address; give one, as in 127.0.0.1");
    }
    const asio::ip::tcp::endpoint wanted(ip, port);
    asio::ip::tcp::acceptor acceptor(io);
    acceptor.open(wanted.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(wanted, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) fail(error, what);
    const Uri uri{.host = address, .port = acceptor.local_endpoint().port()};
    return std::make_shared<Listener>(Acceptor(std::move(acceptor)), uri, "");
}

std::shared_ptr<Listener> Listener::on_descriptor(asio::io_context& io, int socket) {
    const std::string what = "listen on descriptor " + std::to_string(socket);
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) < 0) {
        throw std::invalid_argument(what + ": not a socket");
    }
    const int family = address.ss_family;
    const bool tcp = family == AF_INET || family == AF_INET6;
    if (socket_option(socket, SO_TYPE) != SOCK_STREAM || (!tcp && family != AF_UNIX)) {
        throw std::invalid_argument(what + ": neither a TCP nor a Unix stream socket");
    }
    if (socket_option(socket, SO_ACCEPTCONN) != 1) {
        throw std::invalid_argument(what +
                                    ": it does not listen; in a systemd socket unit say "
                                    "ListenStream= and Accept=no");
    }
    error_code error;
    Acceptor acceptor(io);
    acceptor.assign(Protocol(family, tcp ? IPPROTO_TCP : 0), socket, error);
    if (error) fail(error, what);
    return std::make_shared<Listener>(
        std::move(acceptor), tcp ? tcp_address(address, bytes) : unix_address(address, bytes), "");
}

void Listener::start(Server& server) {
    server_ = &server;
    accept();
}

void Listener::accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code error, Protocol::socket socket) {
        self->accepted(error, std::move(socket));
    });
}

void Listener::stop() {
    server_ = nullptr;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    if (!path_.empty()) ::unlink(path_.c_str());
}

void Listener::accepted(error_code error, Protocol::socket socket) {
    if (server_ == nullptr) return;
    if (!error) {
        server_->admit(std::move(socket));
        return accept();
    }
    pause_.expires_after(accept_pause);
    pause_.async_wait([self = shared_from_this()](error_code) {
        if (self->server_ != nullptr) self->accept();
    });
}

}  // namespace blkscope::nbd
