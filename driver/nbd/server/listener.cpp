#include "driver/nbd/server/listener.hpp"

#include <cassert>
#include <cerrno>
#include <chrono>
#include <utility>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {
namespace {

// The pause after an accept error that is likely to last.
constexpr std::chrono::milliseconds accept_pause{100};

bool same_address(const Uri& one, const Uri& other) {
    return one.socket_path == other.socket_path && one.host == other.host && one.port == other.port;
}

bool has_address(const Uri& uri) {
    return !uri.socket_path.empty() || !uri.host.empty();
}

}  // namespace

Listener::Listener(Executor& executor, std::unique_ptr<Acceptor> acceptor)
    : acceptor_(std::move(acceptor)), pause_(executor.make_timer()) {
    assert(acceptor_ != nullptr);
}

Listener::~Listener() {
    stop();
}

void Listener::start(Host& host) {
    assert(host_ == nullptr);
    host_ = &host;
    accept();
}

void Listener::accept() {
    assert(host_ != nullptr);
    acceptor_->async_accept([this](auto socket) { accepted(std::move(socket)); });
}

void Listener::stop() {
    acceptor_->close();
    pause_->cancel();
}

// Returns false if no client could be accepted.
bool Listener::accept_in_need(int error) {
    assert(error != 0);
    assert(host_ != nullptr);
    auto socket = acceptor_->accept_with_spare();
    const bool any = socket != nullptr;
    if (any) host_->admit_in_need(std::move(socket), error);
    if (!planted("spare-forgotten")) acceptor_->restore_spare();
    return any;
}

void Listener::accepted(Result<std::unique_ptr<StreamSocket>> socket) {
    assert(host_ != nullptr);
    if (socket) {
        assert(*socket != nullptr);
        host_->admit(std::move(*socket));
        return accept();
    }
    const int error = socket.error().value();
    if ((error == EMFILE || error == ENFILE) && accept_in_need(error)) return accept();
    pause_->start(accept_pause, [this] { accept(); });
}

Uri Listeners::add(std::unique_ptr<Acceptor> acceptor) {
    assert(acceptor != nullptr);
    auto listener = std::make_unique<Listener>(executor_, std::move(acceptor));
    // Unix sockets first: a client on this machine should use one.
    const bool local = listener->address().host.empty();
    Uri address = listener->address();
    assert(address.export_name.empty());
    if (host_ != nullptr) listener->start(*host_);
    listeners_.insert(local ? listeners_.begin() : listeners_.end(), std::move(listener));
    return address;
}

void Listeners::remove(const Uri& address) {
    std::erase_if(listeners_,
                  [&](const auto& listener) { return same_address(listener->address(), address); });
}

void Listeners::start(Listener::Host& host) {
    assert(host_ == nullptr);
    host_ = &host;
    for (const auto& listener : listeners_) listener->start(host);
}

std::vector<Uri> Listeners::addresses() const {
    std::vector<Uri> addresses;
    for (const auto& listener : listeners_) {
        if (has_address(listener->address())) addresses.push_back(listener->address());
    }
    assert(addresses.size() <= listeners_.size());
    return addresses;
}

}  // namespace blkscope::nbd
