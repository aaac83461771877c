#include "blockdev/device/client_limits.hpp"

#include <algorithm>
#include <cassert>

#include "blockdev/accounting/client_stats.hpp"

namespace blkscope {

// The time in which a request of the client lacked tokens, since the last count.
void ClientLimits::count(Client& client, hrtime_t now) {
    if (!client.limits) return;
    const uint64_t exceeded_ns = client.limits->exceeded_ns(now);
    assert(exceeded_ns >= client.counted_ns);
    if (exceeded_ns == client.counted_ns) return;
    client.stats->lacked_tokens(exceeded_ns - client.counted_ns);
    client.counted_ns = exceeded_ns;
}

void ClientLimits::set(const std::optional<model::LimitSpec>& spec, hrtime_t now) {
    spec_ = spec;
    for (Client* const client : clients_) {
        count(*client, now);
        client->counted_ns = 0;
        client->limits.reset();
        if (spec_) client->limits.emplace(*spec_, now);
    }
}

void ClientLimits::opened(Client& client, hrtime_t now) {
    assert(!client.limits);
    clients_.push_back(&client);
    if (spec_) client.limits.emplace(*spec_, now);
}

void ClientLimits::closed(Client& client, hrtime_t now) {
    count(client, now);
    const auto found = std::ranges::find(clients_, &client);
    assert(found != clients_.end());
    clients_.erase(found);
}

void ClientLimits::begin(hrtime_t now) {
    if (!spec_) return;
    for (Client* const client : clients_) {
        client->limits->begin(now);
        count(*client, now);
    }
}

std::optional<hrtime_t> ClientLimits::again_at() const {
    std::optional<hrtime_t> first;
    if (!spec_) return first;
    for (const Client* const client : clients_) {
        const auto again = client->limits->again_at();
        if (again) first = std::min(first.value_or(*again), *again);
    }
    return first;
}

}  // namespace blkscope
