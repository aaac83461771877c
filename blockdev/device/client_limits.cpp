#include "blockdev/device/client_limits.hpp"

#include <algorithm>
#include <cassert>

#include "blockdev/accounting/client_stats.hpp"
#include "blockdev/ring/planted.hpp"

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
    begins_full_ = spec && model::Limits(*spec, now).full_at(now) <= now;
    if (!planted("old-limits-kept")) kept_.clear();
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
        client.limits = found->second.limits;
        client.counted_ns = client.limits->exceeded_ns(now);
        kept_.erase(found);
        return;
    }
    client.limits.emplace(*spec_, now);
}

// The walk over all is bounded, and closing is no part of a request's way.
void ClientLimits::keep(Client& client, hrtime_t now) {
    assert(client.limits);
    const auto is_as_new = [&](hrtime_t full_at) { return begins_full_ && full_at <= now; };
    std::erase_if(kept_, [&](const auto& each) { return is_as_new(each.second.full_at); });
    const hrtime_t full_at = client.limits->full_at(now);
    if (is_as_new(full_at)) return;
    kept_.insert_or_assign(client.key, Kept{*client.limits, full_at});
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
    counted_at_ = now;
    for (Client* const client : clients_) {
        client->limits->begin(now);
        count(*client, now);
    }
}

void ClientLimits::go_on(hrtime_t now) {
    constexpr hrtime_t rest_ns = 10'000'000;  // so that many clients cost little
    if (!spec_ || now - counted_at_ < rest_ns) return;
    counted_at_ = now;
    for (Client* const client : clients_) count(*client, now);
}

std::optional<hrtime_t> ClientLimits::again_at() const {
    std::optional<hrtime_t> earliest;
    if (!spec_) return earliest;
    for (const Client* const client : clients_) {
        const std::optional<hrtime_t> each = client->limits->again_at();
        if (each) earliest = std::min(earliest.value_or(*each), *each);
    }
    return earliest;
}

}  // namespace blkscope
