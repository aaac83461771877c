#include "driver/nbd/server/peer_shares.hpp"

#include <cassert>
#include <utility>

#include "blockdev/ring/planted.hpp"

namespace blkscope::nbd {

PeerShares::Counts::iterator PeerShares::increment(Counts& counts, const Peer::Key& key) {
    const auto place = counts.try_emplace(key, 0).first;
    ++place->second;
    return place;
}

void PeerShares::decrement(Counts& counts, Counts::iterator place) {
    assert(place->second > 0);
    if (--place->second == 0) counts.erase(place);
}

void PeerShares::add(Number number, const Peer& peer) {
    assert(members_.empty() || members_.rbegin()->first < number);
    members_.emplace_hint(members_.end(), number,
                          Member{.owner = increment(owners_, peer.owner_key()),
                                 .client = increment(clients_, peer.client_key())});
}

void PeerShares::remove(Number number) {
    const auto found = members_.find(number);
    assert(found != members_.end());
    decrement(owners_, found->second.owner);
    decrement(clients_, found->second.client);
    members_.erase(found);
    assert(members_.empty() == owners_.empty());
    assert(members_.empty() == clients_.empty());
    assert(owners_.size() <= clients_.size());
}

size_t PeerShares::of_client(const Peer& peer) const {
    const auto found = clients_.find(peer.client_key());
    assert(found == clients_.end() || found->second > 0);
    return found == clients_.end() ? 0 : found->second;
}

std::optional<PeerShares::Number> PeerShares::first_to_end(const Peer& newcomer) const {
    const auto owner = owners_.find(newcomer.owner_key());
    const auto client = clients_.find(newcomer.client_key());
    std::optional<Number> first;
    std::pair<size_t, size_t> most{0, 0};
    for (const auto& [number, member] : members_) {  // oldest first
        const std::pair<size_t, size_t> has{
            member.owner->second + (member.owner == owner ? 1 : 0),
            member.client->second + (member.client == client ? 1 : 0)};
        if (has <= most) continue;
        most = has;
        first = number;
        if (planted("oldest-goes")) break;
    }
    assert(first.has_value() == !members_.empty());
    return first;
}

}  // namespace blkscope::nbd
