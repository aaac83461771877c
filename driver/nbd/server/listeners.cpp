#include "driver/nbd/server/listeners.hpp"

#include <cassert>
#include <utility>

namespace blkscope::nbd {
namespace {

bool same_address(const Uri& one, const Uri& other) {
    return one.socket_path == other.socket_path && one.host == other.host && one.port == other.port;
}

bool has_address(const Uri& uri) {
    return !uri.socket_path.empty() || !uri.host.empty();
}

}  // namespace

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

void Listeners::remove_all() {
    listeners_.clear();
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
