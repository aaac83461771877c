#include "driver/nbd/server/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <system_error>
#include <utility>

#include "driver/nbd/server/descriptors.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/server/listener.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/worker.hpp"

namespace blkscope::nbd {
namespace {

bool same_address(const Uri& one, const Uri& other) {
    return one.socket_path == other.socket_path && one.host == other.host && one.port == other.port;
}

Reception::Rules rules(const Server::Options& options) {
    return {.handshake_time = options.handshake_time,
            .connections_max = options.connections_max,
            .handshakes_max = options.handshakes_max,
            .allow = options.allow,
            .tls = options.tls,
            .replies = options.replies};
}

bool has_address(const Uri& uri) {
    return !uri.socket_path.empty() || !uri.host.empty();
}

}  // namespace

Server::Server(Executor& executor, const Options& options, WorkerSource source)
    : executor_(executor),
      options_(options),
      source_(std::move(source)),
      names_({}),
      reception_(executor, *this, names_, rules(options)) {}

Server::~Server() {
    stop();
}

// ---- Exports ----

Worker& Server::make_worker() {
    auto worker = source_.make ? source_.make(options_.busy_wait)
                               : std::make_unique<Worker>(options_.busy_wait);
    assert(worker != nullptr);
    worker->when_connection_ended([this] {
        if (when_idle_) executor_.post([this] { look_for_idleness(); });
    });
    if (started_) start(*worker);
    return *workers_.emplace_back(std::move(worker));
}

void Server::start(Worker& worker) {
    if (source_.start) return source_.start(worker);
    worker.start();
}

// A worker of its own for each export while there may be more workers; then the one with the
// fewest.
Worker& Server::next_worker() {
    const auto fewest =
        std::min_element(workers_.begin(), workers_.end(),
                         [](const auto& a, const auto& b) { return a->exports() < b->exports(); });
    const bool idle = fewest != workers_.end() && (*fewest)->exports() == 0;
    if (idle || (fewest != workers_.end() && workers_.size() >= options_.workers)) return **fewest;
    return make_worker();
}

// The export's own, unless another has fewer clients; a new one while there may be more and none is
// without. So two clients of one disk have two processors.
Worker& Server::worker_for(const Export& exp) {
    if (exp.worker.connections() == 0 || !exp.device.backing().shareable()) return exp.worker;
    const auto fewest = std::min_element(
        workers_.begin(), workers_.end(),
        [](const auto& a, const auto& b) { return a->connections() < b->connections(); });
    if ((*fewest)->connections() > 0 && workers_.size() < options_.workers) {
        try {
            return make_worker();
        } catch (const std::exception& error) {
            reception_.log(fmt::format("no worker for one more client, which will share one: {}",
                                       error.what()));
        }
    }
    return (*fewest)->connections() < exp.worker.connections() ? **fewest : exp.worker;
}

std::unique_ptr<Export> Server::make(ExportOptions options) {
    auto exp = next_worker().make_export(std::move(options));
    exp->serial = ++next_serial_;
    return exp;
}

void Server::retire(std::unique_ptr<Export> exp) {
    Worker& owner = exp->worker;
    for (const auto& worker : workers_) {
        if (worker.get() != &owner) worker->end_clients(exp->serial);
    }
    owner.retire(std::move(exp));
}

void Server::add(ExportOptions options) {
    assert(!started_);
    exports_.push_back(make(std::move(options)));
}

// In place: a handshake that is under way answers its next option from the new list. If it throws,
// the old one stays.
void Server::rename() {
    std::vector<ExportInfo> infos;
    for (const auto& exp : exports_) infos.push_back(exp->info());
    names_ = Exports(std::move(infos), options_.list);
}

void Server::change(const std::vector<std::string>& removed, std::vector<ExportOptions> added) {
    const auto stays = [&](const std::unique_ptr<Export>& exp) {
        return std::find(removed.begin(), removed.end(), exp->name) == removed.end();
    };
    const auto first_leaver = std::stable_partition(exports_.begin(), exports_.end(), stays);
    Exps leavers(std::make_move_iterator(first_leaver), std::make_move_iterator(exports_.end()));
    exports_.erase(first_leaver, exports_.end());
    const size_t kept = exports_.size();
    try {
        for (ExportOptions& options : added) exports_.push_back(make(std::move(options)));
        rename();
    } catch (...) {
        for (size_t i = kept; i < exports_.size(); ++i) retire(std::move(exports_[i]));
        exports_.resize(kept);
        std::move(leavers.begin(), leavers.end(), std::back_inserter(exports_));
        throw;
    }
    for (auto& exp : leavers) retire(std::move(exp));
    publish();
}

// The first address is the one that others are told.
void Server::publish() {
    if (!started_) return;
    for (size_t i = 0; i < exports_.size(); ++i) {
        const auto found = uris(i);
        const std::string uri = found.empty() ? "" : found.front().text();
        if (!exports_[i]->published() || uri != exports_[i]->uri()) exports_[i]->publish(uri);
    }
}

const std::string& Server::device_name(size_t index) const {
    assert(index < exports_.size());
    return exports_[index]->device.name();
}

uint64_t Server::serial_of(size_t export_index) const {
    assert(export_index < exports_.size());
    return exports_[export_index]->serial;
}

std::vector<Uri> Server::uris(size_t index) const {
    std::vector<Uri> uris;
    for (const auto& listener : listeners_) {
        if (!has_address(listener->address())) continue;
        uris.push_back(listener->address());
        uris.back().export_name = exports_[index]->name;
        uris.back().tls = options_.tls && options_.tls->mode() == TlsMode::require;
    }
    return uris;
}

// ---- Listening ----

Uri Server::listen(std::unique_ptr<Acceptor> acceptor) {
    auto listener = std::make_unique<Listener>(executor_, std::move(acceptor));
    // Unix sockets first: what is near is what a client on this machine should take.
    const bool local = listener->address().host.empty();
    Uri address = listener->address();
    if (started_) listener->start(reception_);
    listeners_.insert(local ? listeners_.begin() : listeners_.end(), std::move(listener));
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
    std::erase_if(listeners_,
                  [&](const auto& listener) { return same_address(listener->address(), address); });
    publish();
}

// ---- Clients ----

void Server::set_limits(const Options& options) {
    const Options before = std::exchange(options_, options);
    options_.workers = before.workers;
    options_.busy_wait = before.busy_wait;
    reception_.set_rules(rules(options_));
    rename();  // whether it may be listed stands in the list
}

size_t Server::served() const {
    size_t count = 0;
    for (const auto& worker : workers_) count += worker->connections();
    return count;
}

void Server::serve_client(int socket) {
    reception_.admit(executor_.take_socket(socket));
}

// The export may have gone since the client was told that it has it.
void Server::serve(uint64_t export_serial, const Terms& terms, int socket,
                   std::unique_ptr<TlsSession> tls) {
    assert(socket >= 0);
    const auto exp = std::find_if(exports_.begin(), exports_.end(), [&](const auto& candidate) {
        return candidate->serial == export_serial;
    });
    if (exp == exports_.end()) {
        ::close(socket);
    } else {
        worker_for(**exp).hand_over(**exp, terms, socket, std::move(tls));
    }
}

void Server::look_for_idleness() {
    if (when_idle_ && reception_.handshakes() + served() == 0) when_idle_();
}

size_t Server::descriptors_to_come() const {
    const size_t workers = options_.workers - std::min<size_t>(options_.workers, workers_.size());
    const size_t now = reception_.handshakes() + served();
    const size_t clients =
        options_.connections_max - std::min<size_t>(options_.connections_max, now);
    return workers * worker_descriptors + clients;
}

// ---- From start to stop ----

void Server::start() {
    rename();
    started_ = true;
    publish();
    for (const auto& worker : workers_) start(*worker);
    for (const auto& listener : listeners_) listener->start(reception_);
}

void Server::close_door() {
    listeners_.clear();
    reception_.close();
}

bool Server::stop(std::optional<std::chrono::seconds> limit) {
    close_door();
    for (auto& exp : exports_) retire(std::move(exp));
    exports_.clear();
    for (const auto& worker : workers_) worker->stop();
    std::optional<std::chrono::steady_clock::time_point> deadline;
    if (limit) deadline = executor_.now() + *limit;
    return std::all_of(workers_.begin(), workers_.end(),
                       [&](const auto& worker) { return worker->join(deadline); });
}

bool Server::all_flushed() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& worker) { return worker->all_flushed(); });
}

}  // namespace blkscope::nbd
