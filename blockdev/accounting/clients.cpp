#include "blockdev/accounting/clients.hpp"

#include <cassert>

namespace blkscope {

Clients::~Clients() {
    assert(clients_.empty());
    assert(own_.empty());
}

// Whether one more client gets statistics of its own.
bool Clients::has_place(hrtime_t now_ns) {
    while (!resting_.empty() && now_ns - resting_.front() >= rest_ns) resting_.pop_front();
    return own_.size() + resting_.size() < subject_.client_stats;
}

ClientStats& Clients::stats_for(Client& client, const ClientIdentity& who, hrtime_t now_ns) {
    if (!gone_) {
        other_ = std::make_unique<ClientStats>(seq_, subject_, "client-other");
        gone_ = std::make_unique<ClientStats>(seq_, subject_, "client-gone");
    }
    client.number = UINT32_MAX;
    if (!has_place(now_ns)) return *other_;
    client.number = ++last_number_;
    client.name = "client-" + std::to_string(client.number);
    auto made = std::make_unique<ClientStats>(seq_, subject_, client.name, who);
    return *(own_[&client] = std::move(made));
}

Client& Clients::open(const ClientIdentity& who, const ConnectionFigures& figures,
                      hrtime_t now_ns) {
    assert(!who.key.empty());
    const auto known = clients_.find(who.key);
    Client& client = known != clients_.end() ? *known->second : make(who, now_ns);
    ++client.connections;
    client.stats->add_connection(figures);
    return client;
}

// Nothing is left of a client for which there is no memory.
Client& Clients::make(const ClientIdentity& who, hrtime_t now_ns) {
    auto made = std::make_unique<Client>();
    made->key = who.key;
    made->tls_name = who.tls_name;
    const auto at = clients_.emplace(who.key, std::move(made)).first;
    try {
        at->second->stats = &stats_for(*at->second, who, now_ns);
    } catch (...) {
        clients_.erase(at);
        throw;
    }
    return *at->second;
}

std::unique_ptr<ClientStats> Clients::close(Client& client, const ConnectionFigures& figures,
                                            hrtime_t now_ns) {
    assert(client.connections > 0);
    client.stats->remove_connection(figures);
    if (--client.connections > 0) return nullptr;
    assert(client.line.empty());
    std::unique_ptr<ClientStats> closed;
    if (const auto own = own_.find(&client); own != own_.end()) {
        closed = std::move(own->second);
        own_.erase(own);
        resting_.push_back(now_ns);
    }
    clients_.erase(std::string(client.key));
    return closed;
}

std::vector<std::pair<std::string, std::string>> Clients::tls_names() const {
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& [key, client] : clients_) {
        if (client->name.empty() || client->tls_name.empty()) continue;
        names.emplace_back(client->name, client->tls_name);
    }
    return names;
}

std::vector<const kstat_io_t*> Clients::counters() const {
    std::vector<const kstat_io_t*> all;
    for (const auto& [client, stats] : own_) all.push_back(&stats->io());
    if (gone_) all.insert(all.end(), {&other_->io(), &gone_->io()});
    return all;
}

}  // namespace blkscope
