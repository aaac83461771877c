#include "tools/blkscope/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "base/log_line.hpp"
#include "blockdev/accounting/histogram_switch.hpp"
#include "blockdev/backing/crash_backing.hpp"
#include "blockdev/device/device.hpp"
#include "kstat/provider/instance.hpp"
#include "tools/blkscope/backing_schemes.hpp"
#include "tools/blkscope/backing_warnings.hpp"
#include "tools/blkscope/control_socket.hpp"
#include "tools/blkscope/default_socket.hpp"
#include "tools/blkscope/run_directory.hpp"

namespace blkscope {
namespace {

nbd::Server::Options server_options(const ServiceConfig& config) {
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    return {.workers = config.workers > 0 ? config.workers : processors,
            .busy_wait = config.busy_wait,
            .handshake_time = std::chrono::seconds(config.handshake_seconds),
            .connections_max = config.connections_max,
            .list = config.list,
            .handshakes_max = config.handshakes_max,
            .allow = nbd::AllowList(config.allow),
            .tls = nbd::TlsContext::open(config.tls),
            .replies = config.replies,
            .client_by = config.client_by,
            .recorder_records = config.recorder_records};
}

const ExportConfig* find(const ServiceConfig& config, const std::string& name) {
    const auto found = std::ranges::find(config.exports, name, &ExportConfig::name);
    return found == config.exports.end() ? nullptr : &*found;
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

ServiceChange difference(const ServiceConfig& before, const ServiceConfig& after) {
    ServiceChange change;
    for (const ExportConfig& exp : after.exports) {
        const ExportConfig* old = find(before, exp.name);
        if (old == nullptr) {
            change.added.push_back(exp.name);
        } else if (!(fixed_part(*old) == fixed_part(exp))) {
            change.replaced.push_back(exp.name);
        }
    }
    for (const ExportConfig& exp : before.exports) {
        if (find(after, exp.name) == nullptr) change.removed.push_back(exp.name);
    }
    return change;
}

// A program that writes past the cache would be overwritten by the cache.
void require_one_writer(const ExportConfig& exp) {
    if (!exp.crash_cache || !exp.force_shared) return;
    throw std::invalid_argument(
        fmt::format("{}: crash-cache and force-shared exclude each other", exp.name));
}

// Lines about settings of clients in a server that has no clients in its statistics.
std::vector<std::string> settings_without_clients(const ServiceConfig& config) {
    std::vector<std::string> lines;
    if (config.client_by != nbd::ClientBy::none) return lines;
    for (const ExportConfig& exp : config.exports) {
        if (exp.order == StartOrder::fair) {
            lines.push_back(exp.name + ": order fair has no effect with client-by none");
        }
        if (exp.behaviour.client_limits) {
            lines.push_back(exp.name + ": client-limit has no effect with client-by none");
        }
    }
    return lines;
}

bool is_new(const ServiceChange& change, const std::string& name) {
    return contains(change.added, name) || contains(change.replaced, name);
}

void require_no_addresses(const ServiceConfig& config) {
    if (config.listen.empty()) return;
    throw std::invalid_argument(
        "serve: there are sockets from LISTEN_FDS and addresses to listen on; leave one out");
}

}  // namespace

std::unique_ptr<Backing> open_backing_of(const ExportConfig& exp) {
    require_one_writer(exp);
    return open_backing(exp.backing,
                        {.direct = exp.direct,
                         .read_only = exp.read_only,
                         .force_shared = exp.force_shared,
                         .only_writer = exp.crash_cache.has_value(),
                         .queue_depth = exp.queue_depth,
                         .upstream = exp.upstream},
                        backing_schemes());
}

Service::Service(nbd::Executor& executor, ServiceConfig config, const Door& door)
    : executor_(executor),
      config_(std::move(config)),
      listens_itself_(door.sockets.empty() && !door.client),
      server_(executor, server_options(config_)) {
    HistogramSwitch::of_this_process().set_default(config_.histograms);
    NextInstance next{.preferred = door.preferred_instance};
    for (const ExportConfig& exp : config_.exports) {
        server_.add(open(exp, open_backing_of(exp), next));
    }
    if (!listens_itself_) require_no_addresses(config_);
    remove_dead_servers_sockets();
    remove_dead_control_sockets();
    for (const int socket : door.sockets) server_.listen_on(socket);
    listening_ = listen_on_new(addresses(config_));
    log_behaviours();
}

// Claims the lowest number that is free, or the preferred one. A thousand exports do not try all numbers that were taken
// before.
kstat::InstanceClaim Service::claim(NextInstance& next) {
    auto claimed =
        in_run_directory([&] { return kstat::claim_instance("nbd", next.preferred, next.lowest); });
    if (claimed.number() != next.preferred) next.lowest = claimed.number() + 1;
    next.preferred = -1;
    return claimed;
}

nbd::ExportOptions Service::open(const ExportConfig& exp, std::unique_ptr<Backing> backing,
                                 NextInstance& next) {
    Behaviour behaviour = behaviour_of(exp.behaviour, backing->size_bytes());
    behaviour.busy_wait = config_.busy_wait;
    std::shared_ptr<VolatileCache> cache;
    if (exp.crash_cache) {
        model::CrashCacheOptions options = *exp.crash_cache;
        options.seed = behaviour.seed;
        auto crash = std::make_unique<CrashBacking>(std::move(backing), options);
        cache = crash->cache();
        backing = std::move(crash);
    }
    auto instance = claim(next);
    const std::string device = fmt::format("nbd{}: ", instance.number());
    if (const std::string warning = sector_warning(backing->size_bytes()); !warning.empty()) {
        opened_.push_back(device + warning);
    }
    if (cache) opened_.push_back(device + "crash-cache " + cache->text());
    if (const std::string text = text_of(behaviour); !text.empty()) {
        opened_.push_back(device + text);
    }
    if (const std::string means = means_of(behaviour); !means.empty()) {
        opened_.push_back(device + means);
    }
    for (const std::string& warning : warnings_of(behaviour)) opened_.push_back(device + warning);
    return {
        .name = exp.name,
        .description = exp.description,
        .backing = std::move(backing),
        .crash_cache = std::move(cache),
        .instance = std::move(instance),
        .queue_depth = exp.queue_depth,
        .order = exp.order,
        .stats_rate = exp.stats_rate,
        .client_stats = exp.client_stats,
        .behaviour = std::move(behaviour),
        .read_only = exp.read_only,
        .is_default = exp.is_default,
    };
}

// A start that fails says why in one line, and no more.
void Service::log_behaviours() {
    for (const std::string& line : std::exchange(opened_, {})) log_line(line);
    for (const std::string& line : settings_without_clients(config_)) log_line(line);
}

// ---- Addresses ----

std::vector<ListenAddress> Service::addresses(const ServiceConfig& config) const {
    if (!listens_itself_) return {};
    if (config.listen.empty()) return {{.unix_path = default_socket_path()}};
    return config.listen;
}

nbd::Uri Service::listen(const ListenAddress& address) {
    if (address.unix_path.empty()) return server_.listen_tcp(address.host, address.port);
    return server_.listen_unix(std::filesystem::absolute(address.unix_path).string());
}

// Listens on all new addresses, or on none if one of them fails.
std::vector<Service::Listening> Service::listen_on_new(const std::vector<ListenAddress>& wanted) {
    std::vector<Listening> opened;
    try {
        for (const ListenAddress& address : wanted) {
            const bool known =
                std::ranges::find(listening_, address, &Listening::first) != listening_.end();
            if (!known) opened.emplace_back(address, listen(address));
        }
    } catch (...) {
        for (const auto& [address, uri] : opened) server_.stop_listening(uri);
        throw;
    }
    return opened;
}

void Service::stop_listening_unless(const std::vector<ListenAddress>& wanted) {
    std::erase_if(listening_, [&](const Listening& old) {
        if (contains(wanted, old.first)) return false;
        server_.stop_listening(old.second);
        return true;
    });
}

// ---- Changes ----

// Exports with a backing that only a reload makes useful again.
void Service::replace_useless(const ServiceConfig& config, ServiceChange& change) const {
    for (const ExportConfig& exp : config.exports) {
        if (is_new(change, exp.name)) continue;
        const Device* const device = server_.find_device(exp.name);
        assert(device != nullptr);
        if (device->backing().must_be_reopened()) change.replaced.push_back(exp.name);
    }
}

// The changes of the devices that stay.
std::vector<Adaptation> Service::adaptations(const ServiceConfig& config, ServiceChange& change) {
    std::vector<Adaptation> adaptations;
    for (const ExportConfig& exp : config.exports) {
        if (is_new(change, exp.name)) continue;
        Device* const device = server_.find_device(exp.name);
        assert(device != nullptr);
        Adaptation adaptation(*device, exp);
        if (adaptation.empty()) continue;
        adaptations.push_back(std::move(adaptation));
        change.adapted.push_back(exp.name);
    }
    return adaptations;
}

ServiceChange Service::difference_to(const ServiceConfig& config) const {
    ServiceChange change = difference(config_, config);
    replace_useless(config, change);
    return change;
}

std::vector<ExportConfig> Service::openings(const ServiceConfig& config) const {
    const ServiceChange change = difference_to(config);
    std::vector<ExportConfig> openings;
    for (const ExportConfig& exp : config.exports) {
        if (!is_new(change, exp.name)) continue;
        openings.push_back(exp);
        openings.back().upstream.wait = false;  // a reload that waits for ever would never end
    }
    return openings;
}

void Service::change(ServiceConfig config, OpenedBackings opened, Changed done) {
    assert(!under_way_);
    if (!listens_itself_) require_no_addresses(config);
    nbd::Server::Options limits = server_options(config);
    ServiceChange change = difference_to(config);
    // One that became useless since the openings stays until the next reload.
    std::erase_if(change.replaced, [&](const std::string& name) { return !opened.contains(name); });
    opened_.clear();  // of a change that failed
    under_way_ = std::make_shared<UnderWay>(UnderWay{.config = std::move(config),
                                                     .opened = std::move(opened),
                                                     .done = std::move(done),
                                                     .limits = std::move(limits),
                                                     .change = std::move(change),
                                                     .exports = server_.new_exports()});
    go_on_later();
}

// The service may have dropped the change before the call is made.
void Service::go_on_later() {
    executor_.post([this, change = std::weak_ptr(under_way_)] {
        const std::shared_ptr<UnderWay> now = change.lock();
        if (!now) return;
        std::exception_ptr failure;
        try {
            if (make_next() || finish()) return go_on_later();
        } catch (...) {
            failure = std::current_exception();
        }
        under_way_.reset();
        now->done(now->change, failure);
    });
}

// False if no more exports are to be made.
bool Service::make_next() {
    UnderWay& now = *under_way_;
    const std::vector<ExportConfig>& all = now.config.exports;
    while (now.looked_at < all.size() && !is_new(now.change, all[now.looked_at].name)) {
        ++now.looked_at;
    }
    if (now.looked_at == all.size()) return false;
    const ExportConfig& exp = all[now.looked_at++];
    OpenedBacking opened = std::move(now.opened.at(exp.name));
    nbd::ExportOptions options = open(exp, std::move(opened.backing), now.next);
    options.table = std::move(opened.look);
    now.exports.add(std::move(options));
    return true;
}

// Offers what was made. False if that is done already. All that can fail comes first.
bool Service::finish() {
    UnderWay& now = *under_way_;
    if (std::exchange(now.finished, true)) return false;
    const ServiceConfig& config = now.config;
    std::vector<Adaptation> adapted = adaptations(config, now.change);
    const std::vector<ListenAddress> wanted = addresses(config);
    const std::vector<Listening> new_ones = listen_on_new(wanted);
    std::vector<std::string> leaving = now.change.removed;
    leaving.insert(leaving.end(), now.change.replaced.begin(), now.change.replaced.end());
    try {
        server_.change(leaving, std::move(now.exports));
    } catch (...) {
        for (const auto& [address, uri] : new_ones) server_.stop_listening(uri);
        throw;
    }
    listening_.insert(listening_.end(), new_ones.begin(), new_ones.end());
    stop_listening_unless(wanted);
    server_.set_limits(now.limits);
    for (Adaptation& adaptation : adapted) adaptation.apply();
    if (config.histograms != config_.histograms) {
        HistogramSwitch::of_this_process().set_default(config.histograms);
    }
    config_ = config;
    log_behaviours();
    return true;
}

std::string Service::announcement(const std::vector<std::string>& names) const {
    std::string lines;
    for (size_t i = 0; i < server_.exports(); ++i) {
        for (const nbd::Uri& uri : server_.uris(i)) {
            if (!names.empty() && !contains(names, uri.export_name)) continue;
            lines += fmt::format("{} {}\n", server_.device(i).name(), uri.text());
        }
    }
    return lines;
}

}  // namespace blkscope
