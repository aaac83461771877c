#include "driver/nbd/server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "driver/nbd/export.hpp"
#include "driver/nbd/log_limit.hpp"
#include "driver/nbd/negotiation.hpp"
#include "driver/nbd/worker.hpp"

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

}  // namespace

// One listening socket.
class Listener : public std::enable_shared_from_this<Listener> {
  public:
    using Protocol = asio::generic::stream_protocol;
    using Acceptor = asio::basic_socket_acceptor<Protocol>;

    Listener(Server& server, Acceptor acceptor, std::string path)
        : server_(&server),
          acceptor_(std::move(acceptor)),
          pause_(acceptor_.get_executor()),
          path_(std::move(path)) {}

    void accept() {
        acceptor_.async_accept(
            [self = shared_from_this()](error_code error, Protocol::socket socket) {
                self->accepted(error, std::move(socket));
            });
    }

    void stop() {
        server_ = nullptr;
        error_code ignored;
        acceptor_.close(ignored);
        pause_.cancel();
        if (!path_.empty()) ::unlink(path_.c_str());
    }

  private:
    void accepted(error_code error, Protocol::socket socket) {
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

    Server* server_;
    Acceptor acceptor_;
    asio::steady_timer pause_;
    std::string path_;  // of a Unix socket
};

Server::Server(asio::io_context& io, const Options& options)
    : io_(io), options_(options), log_(std::make_unique<LogLimit>()) {
    for (unsigned i = 0; i < options.workers; ++i) workers_.push_back(std::make_unique<Worker>());
}

Server::~Server() {
    stop();
}

void Server::add(ExportOptions options) {
    Worker& worker = *workers_[exports_.size() % workers_.size()];
    exports_.push_back(std::make_unique<Export>(worker, std::move(options)));
}

void Server::start() {
    std::vector<ExportInfo> infos;
    for (const auto& exp : exports_) infos.push_back(exp->info());
    names_ = std::make_unique<Exports>(std::move(infos), options_.list);
    for (size_t i = 0; i < exports_.size(); ++i) exports_[i]->publish(uris(i).front().text());
    for (const auto& worker : workers_) worker->start();
    for (const auto& listener : listeners_) listener->accept();
}

const std::string& Server::device_name(size_t index) const {
    return exports_[index]->device.name();
}

std::vector<Uri> Server::uris(size_t index) const {
    std::vector<Uri> uris = addresses_;
    for (Uri& uri : uris) uri.export_name = exports_[index]->name;
    return uris;
}

void Server::listen_unix(const std::string& path) {
    const std::string what = "listen on " + path;
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
        throw std::system_error(ENAMETOOLONG, std::generic_category(), what);
    }
    remove_stale_socket(io_, path);
    asio::basic_socket_acceptor<asio::local::stream_protocol> acceptor(io_);
    error_code error;
    acceptor.open({}, error);
    if (!error) acceptor.bind(asio::local::stream_protocol::endpoint(path), error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) fail(error, what);
    listeners_.push_back(
        std::make_shared<Listener>(*this, Listener::Acceptor(std::move(acceptor)), path));
    addresses_.insert(addresses_.begin(), Uri{.socket_path = path});
}

void Server::listen_tcp(const std::string& address, uint16_t port) {
    const std::string what = "listen on " + address + " port " + std::to_string(port);
    error_code error;
    const auto ip = asio::ip::make_address(address, error);
    if (error) {
        throw std::invalid_argument(what + ": not an IP address; give one, as in 127.0.0.1");
    }
    const asio::ip::tcp::endpoint wanted(ip, port);
    asio::ip::tcp::acceptor acceptor(io_);
    acceptor.open(wanted.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(wanted, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) fail(error, what);
    addresses_.push_back(Uri{.host = address, .port = acceptor.local_endpoint().port()});
    listeners_.push_back(
        std::make_shared<Listener>(*this, Listener::Acceptor(std::move(acceptor)), ""));
}

size_t Server::connections() const {
    size_t count = negotiations_.size();
    for (const auto& worker : workers_) count += worker->connections();
    return count;
}

void Server::admit(Socket socket) {
    if (connections() >= options_.connections_max) return;  // and the socket is closed
    // Small replies must not wait for more, and a client whose machine is gone must not keep its
    // place for ever. Not a TCP socket: there is nothing to set.
    error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    negotiations_.push_back(std::make_shared<Negotiation>(*this, *names_, std::move(socket)));
    negotiations_.back()->start(options_.handshake_time);
}

void Server::negotiated(Negotiation& negotiation, size_t export_index, const Terms& terms,
                        int socket) {
    Export& exp = *exports_[export_index];
    exp.worker.hand_over(exp, terms, socket);
    ended(negotiation);
}

void Server::ended(Negotiation& negotiation) {
    std::erase_if(negotiations_, [&](const auto& held) { return held.get() == &negotiation; });
}

void Server::stop() {
    for (const auto& listener : listeners_) listener->stop();
    listeners_.clear();
    for (const auto& negotiation : negotiations_) negotiation->stop();
    negotiations_.clear();
    for (const auto& worker : workers_) worker->stop();
    for (const auto& worker : workers_) worker->join();
}

}  // namespace blkscope::nbd
