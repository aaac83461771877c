#include "driver/nbd/server/server.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/server/descriptors.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/worker.hpp"

namespace blkscope::nbd {
namespace {

Reception::Rules rules(const Server::Options& options) {
    return {.handshake_time = options.handshake_time,
            .connections_max = options.connections_max,
            .handshakes_max = options.handshakes_max,
            .allow = options.allow,
            .tls = options.tls,
            .replies = options.replies};
}

}  // namespace

Server::Server(Executor& executor, const Options& options, WorkerSource source)
    : executor_(executor),
      options_(options),
      workers_({.count_max = options.workers,
                .busy_wait = options.busy_wait,
                .recorder_records = options.recorder_records},
               std::move(source),
               {.connection_ended =
                    [this] {
                        if (when_idle_) executor_.post([this] { handshake_ended(); });
                    },
                .log = [this](std::string_view line) { reception_.log(line); }}),
      exports_(workers_),
      listeners_(executor),
      reception_(
          executor, *this, [this]() -> const Exports& { return exports_.current_names(); },
          rules(options)) {}

Server::~Server() {
    stop();
}

// ---- Exports ----

void Server::add(ExportOptions options) {
    assert(!started_);
    exports_.add(std::move(options));
}

void Server::change(const std::vector<std::string>& removed, std::vector<ExportOptions> added) {
    NewExports made = new_exports();
    for (ExportOptions& options : added) made.add(std::move(options));
    change(removed, std::move(made));
}

void Server::change(const std::vector<std::string>& removed, NewExports added) {
    assert(started_);
    exports_.change(removed, std::move(added));
    publish();
}

std::vector<PowerLoss> Server::lose_power(const std::vector<size_t>& exports) {
    assert(started_);
    std::vector<Export*> chosen;
    chosen.reserve(exports.size());
    for (const size_t index : exports) chosen.push_back(&exports_[index]);
    return nbd::lose_power(workers_, chosen);
}

Recordings Server::recordings(size_t export_index) {
    assert(started_);
    const Export& exp = exports_[export_index];
    return {workers_, exp.serial, exp.device.instance()};
}

// The published URI is the first address.
void Server::publish() {
    if (!started_) return;
    for (size_t i = 0; i < exports_.size(); ++i) {
        Export& exp = exports_[i];
        const auto found = uris(i);
        const std::string uri = found.empty() ? "" : found.front().text();
        if (!exp.published() || uri != exp.uri()) exp.publish(uri);
    }
}

Device& Server::device(size_t index) const {
    return exports_[index].device;
}

Device* Server::find_device(const std::string& export_name) const {
    for (size_t i = 0; i < exports_.size(); ++i) {
        if (exports_[i].name == export_name) return &exports_[i].device;
    }
    return nullptr;
}

uint64_t Server::serial_of(size_t export_index) const {
    return exports_[export_index].serial;
}

std::vector<Uri> Server::uris(size_t index) const {
    std::vector<Uri> uris = listeners_.addresses();
    for (Uri& uri : uris) {
        uri.export_name = exports_[index].name;
        uri.tls = options_.tls && options_.tls->mode() == TlsMode::require;
    }
    return uris;
}

// ---- Listening ----

Uri Server::listen(std::unique_ptr<Acceptor> acceptor) {
    Uri address = listeners_.add(std::move(acceptor));
    publish();
    return address;
}

Uri Server::listen_unix(const std::string& path) {
    return listen(executor_.listen_unix(path));
}

Uri Server::listen_tcp(const std::string& address, uint16_t port) {
    return listen(executor_.listen_tcp(address, port));
}

Uri Server::listen_on(int socket) {
    return listen(executor_.listen_on(socket));
}

void Server::stop_listening(const Uri& address) {
    listeners_.remove(address);
    publish();
}

// ---- Clients ----

void Server::set_limits(const Options& options) {
    const Options before = std::exchange(options_, options);
    options_.workers = before.workers;
    options_.busy_wait = before.busy_wait;
    options_.recorder_records = before.recorder_records;
    if (planted("rules-kept")) options_.allow = before.allow;
    reception_.set_rules(rules(options_));
    exports_.offer(options_.list);
}

size_t Server::served() const {
    return workers_.connections();
}

void Server::serve_client(int socket) {
    assert(started_);
    assert(socket >= 0);
    reception_.admit(executor_.take_socket(socket));
}

// The export may have been removed since the handshake chose it.
void Server::serve(uint64_t export_serial, const Terms& terms, int socket,
                   std::unique_ptr<TlsSession> tls, const Peer& peer) {
    assert(started_);
    assert(socket >= 0);
    Export* const exp = exports_.find(export_serial);
    if (exp == nullptr) {
        workers_.close_socket(socket);
    } else {
        const std::string name = tls ? tls->client_name() : "";
        auto who = identity_of(peer, name, options_.client_by, ++last_connection_);
        workers_.for_client(*exp).hand_over(*exp, terms, socket, std::move(tls), std::move(who));
    }
}

// Also called when a connection has ended: the server may be idle now.
void Server::handshake_ended() {
    if (when_idle_ && reception_.handshakes() + served() == 0) when_idle_();
}

size_t Server::descriptors_to_come() const {
    const size_t now = reception_.handshakes() + served();
    const size_t clients =
        options_.connections_max - std::min<size_t>(options_.connections_max, now);
    assert(clients <= options_.connections_max);
    return workers_.to_come() * worker_descriptors + clients;
}

// ---- From start to stop ----

void Server::start() {
    assert(!started_);
    exports_.offer(options_.list);
    started_ = true;
    publish();
    workers_.start();
    listeners_.start(reception_);
}

bool Server::stop(std::optional<std::chrono::seconds> limit) {
    listeners_.remove_all();
    reception_.close();
    exports_.close_all();
    assert(reception_.handshakes() == 0);
    std::optional<std::chrono::steady_clock::time_point> deadline;
    if (limit) deadline = executor_.now() + *limit;
    return workers_.stop(deadline);
}

bool Server::all_flushed() const {
    return workers_.all_flushed();
}

}  // namespace blkscope::nbd
