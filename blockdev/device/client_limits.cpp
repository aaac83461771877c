#include "blockdev/device/client_limits.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

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
    kept_.clear();
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
    if (!spec_) return;
    if (const auto found = kept_.find(client.key); found != kept_.end()) {
        client.limits = std::move(found->second.limits);
        client.counted_ns = client.limits->exceeded_ns(now);
        kept_.erase(found);
        return;
    }
    client.limits.emplace(*spec_, now);
}

// The walk over all is bounded, and closing is no part of a request's way.
void ClientLimits::keep(Client& client, hrtime_t now) {
    assert(client.limits);
    std::erase_if(kept_, [&](const auto& each) { return each.second.full_at <= now; });
    const hrtime_t full_at = client.limits->full_at(now);
    if (full_at <= now) return;
    kept_.insert_or_assign(client.key, Kept{std::move(*client.limits), full_at});
    if (kept_.size() <= kept_max) return;
    kept_.erase(
        std::ranges::min_element(kept_, {}, [](const auto& each) { return each.second.full_at; }));
}

void ClientLimits::closed(Client& client, hrtime_t now) {
    if (client.limits) client.limits->begin(now);  // without requests the client lacks nothing
    count(client, now);
    if (client.limits) keep(client, now);
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
