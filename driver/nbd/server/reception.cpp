#include "driver/nbd/server/reception.hpp"

#include <fmt/format.h>

#include <cassert>
#include <system_error>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

Reception::Reception(Executor& executor, Owner& owner, Names names, Rules rules)
    : executor_(executor), owner_(owner), names_(std::move(names)) {
    set_rules(std::move(rules));
}

Reception::~Reception() {
    close();
}

void Reception::set_rules(Rules rules) {
    assert(rules.handshakes_max > 0);
    assert(rules.connections_max > 0);
    rules_ = std::move(rules);
}

// The reason to refuse a new client; empty for an allowed one.
std::string Reception::why_not(const Peer& peer) const {
    if (peer.address && !rules_.allow.allows(*peer.address)) return "the address is not allowed";
    if (owner_.served() >= rules_.connections_max) {
        return fmt::format("there are {} connections, and no more are allowed", owner_.served());
    }
    return {};
}

bool Reception::full() const {
    return handshakes() >= rules_.handshakes_max || connections() >= rules_.connections_max;
}

void Reception::end_one_for(const Peer& newcomer) {
    const auto number = shares_.first_to_end(newcomer);
    assert(number);
    const auto found = negotiations_.find(*number);
    assert(found != negotiations_.end());
    const std::shared_ptr<Negotiation> chosen = found->second;
    log(fmt::format(
        "handshake with {} ended to make room for {}: the former has {} of {} handshakes",
        chosen->peer().text(), newcomer.text(), shares_.of_client(chosen->peer()), handshakes()));
    chosen->stop();
    shares_.remove(*number);
    negotiations_.erase(found);
    assert(shares_.size() == negotiations_.size());
}

void Reception::refuse(const Peer& peer, std::string_view why) {
    assert(!why.empty());
    log(fmt::format("{} refused: {}", peer.text(), why));
}

void Reception::admit(std::unique_ptr<StreamSocket> socket) {
    assert(socket != nullptr);
    const Peer peer = socket->peer();
    if (const std::string why = why_not(peer); !why.empty()) return refuse(peer, why);
    while (full()) end_one_for(peer);  // several if a reload has lowered a limit
    socket->set_transmission_options();
    Negotiation::Host& host = *this;
    const auto number = ++last_number_;
    shares_.add(number, peer);
    const auto negotiation = std::make_shared<Negotiation>(
        host, executor_, Negotiation::Offer{names_(), rules_.tls, rules_.replies},
        std::move(socket), number);
    negotiations_.emplace(number, negotiation);
    assert(shares_.size() == handshakes() && handshakes() <= rules_.handshakes_max);
    negotiation->start(rules_.handshake_time);
}

// An idle handshake must not use the descriptor that a client could be served with.
void Reception::admit_in_need(std::unique_ptr<StreamSocket> socket, int error) {
    assert(socket != nullptr && error != 0);
    const Peer peer = socket->peer();
    if (const std::string why = why_not(peer); !why.empty()) return refuse(peer, why);
    if (handshakes() == 0 || planted("need-refuses")) {
        return refuse(peer, "no descriptors left: " + std::generic_category().message(error));
    }
    end_one_for(peer);
    admit(std::move(socket));
}

void Reception::close() {
    for (const auto& [number, negotiation] : negotiations_) {
        negotiation->stop();
        shares_.remove(number);
    }
    negotiations_.clear();
    assert(shares_.size() == 0);
}

uint64_t Reception::serial_of(size_t export_index) const {
    return owner_.serial_of(export_index);
}

void Reception::negotiated(Negotiation& negotiation, uint64_t export_serial, const Terms& terms,
                           int socket, std::unique_ptr<TlsSession> tls) {
    assert(socket >= 0);
    owner_.serve(export_serial, terms, socket, std::move(tls), negotiation.peer());
    ended(negotiation);
}

void Reception::ended(Negotiation& negotiation) {
    const auto found = negotiations_.find(negotiation.number());
    assert(found != negotiations_.end() && found->second.get() == &negotiation);
    shares_.remove(found->first);
    negotiations_.erase(found);
    assert(shares_.size() == handshakes());
    owner_.handshake_ended();
}

}  // namespace blkscope::nbd
