#include "driver/nbd/server/reception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

Reception::Reception(Executor& executor, Owner& owner, const Exports& names, Rules rules)
    : executor_(executor), owner_(owner), names_(names), rules_(std::move(rules)) {}

Reception::~Reception() {
    close();
}

// Why a client that has just come is turned away; empty for a welcome one.
std::string Reception::why_not(const Peer& peer) const {
    if (peer.address && !rules_.allow.allows(*peer.address)) return "its address is not allowed";
    if (handshakes() >= rules_.handshakes_max) {
        return fmt::format("{} handshakes are under way, and no more are allowed", handshakes());
    }
    if (connections() >= rules_.connections_max) {
        return fmt::format("there are {} connections, and no more are allowed", connections());
    }
    return {};
}

void Reception::admit(std::unique_ptr<StreamSocket> socket) {
    assert(socket != nullptr);
    if (const std::string why = why_not(socket->peer()); !why.empty()) {
        return log(fmt::format("{} turned away: {}", socket->peer().text(), why));
    }
    socket->set_transmission_options();
    Host& host = *this;
    negotiations_.push_back(std::make_shared<Negotiation>(
        host, executor_, Negotiation::Offer{names_, rules_.tls, rules_.replies},
        std::move(socket)));
    assert(handshakes() <= rules_.handshakes_max);
    negotiations_.back()->start(rules_.handshake_time);
}

void Reception::close() {
    for (const auto& negotiation : negotiations_) negotiation->stop();
    negotiations_.clear();
}

uint64_t Reception::serial_of(size_t export_index) const {
    return owner_.serial_of(export_index);
}

void Reception::negotiated(Negotiation& negotiation, uint64_t export_serial, const Terms& terms,
                           int socket, std::unique_ptr<TlsSession> tls) {
    assert(socket >= 0);
    owner_.serve(export_serial, terms, socket, std::move(tls));
    ended(negotiation);
}

void Reception::ended(Negotiation& negotiation) {
    [[maybe_unused]] const size_t before = handshakes();
    std::erase_if(negotiations_, [&](const auto& held) { return held.get() == &negotiation; });
    assert(handshakes() + 1 == before);
    owner_.handshake_ended();
}

}  // namespace blkscope::nbd
