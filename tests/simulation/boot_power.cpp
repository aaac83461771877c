// Losses of power in a boot: exports with a volatile cache lose what was not flushed, and serve again.
//
//     clients ── power is lost ─▶ all connections are closed ─▶ the oracle looks at what is left
//                                                              ─▶ some clients come again

#include <algorithm>
#include <cassert>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "blockdev/device/device.hpp"
#include "boot.hpp"

namespace blkscope::simulation {
namespace {

constexpr uint64_t power_stream = 0x706f7765;
constexpr uint64_t lost_ns_max = 8'000'000;
constexpr hrtime_t closed_ns_max = 10'000'000'000;
// From when a disk goes on until all that it held has ended.
constexpr hrtime_t last_held_ns_max = 100'000'000;

// The bytes of a backing without a cache.
Image image_of(Backing& backing) {
    Image image(backing.size_bytes());
    std::vector<std::byte> bytes(page_bytes);
    for (uint64_t at = 0; at < image.bytes();) {
        const Extent extent = backing.extent_at(at, image.bytes() - at);
        const uint64_t end = at + extent.bytes;
        for (; !extent.hole && at < end; at += page_bytes) {
            if (!backing.read_now(at, bytes)) return image;
            image.write(at, bytes);
        }
        at = end;
    }
    return image;
}

}  // namespace

// The memory behind a cache can be seen only through another backing of it.
std::unique_ptr<Backing> Boot::with_cache(Served& served, std::unique_ptr<Backing> backing) const {
    served.cache = nullptr;
    served.store = nullptr;
    if (!served.plan.cache) return backing;
    if (!served.file) served.store = backing->another();
    auto cached = std::make_unique<CrashBacking>(std::move(backing), *served.plan.cache);
    served.cache = cached->cache();
    return cached;
}

void Boot::plan_power_losses() {
    Random random(seed_, power_stream);
    for (unsigned i = 0; i < plan_.power_losses; ++i) {
        timeline_.after(static_cast<hrtime_t>(random.between(100'000, lost_ns_max)),
                        [this] { power_due_ = true; });
    }
}

// The control thread waits, and the workers go on: up to the next event, which is not far.
nbd::WorkerSource::Time Boot::wait_a_moment() {
    constexpr hrtime_t moment_ns = 1'000'000;
    if (!std::exchange(moment_ends_, true)) {
        timeline_.after(moment_ns, [this] { moment_ends_ = false; });
    }
    timeline_.step();
    return executor_.now();
}

// All of the setting holds from now on.
void Boot::begin_setting(Served& served, Setting setting) const {
    setting.since = setting.limits_since = setting.client_limits_since = setting.model_since =
        timeline_.now();
    served.settings.push_back(std::move(setting));
}

// No limit and no model holds then. Returns the setting before, which holds again when the power is back.
Setting Boot::without_power(Served& served) const {
    const Setting before = served.settings.back();
    Setting setting = before;
    setting.limits.reset();
    setting.client_limits.reset();
    setting.model = nullptr;
    begin_setting(served, std::move(setting));
    return before;
}

// A client that is in may be still with the control thread, which goes on when the power is back. One that is with
// a worker may have to hear the last of its handshake.
std::vector<const Client*> Boot::connected(const Served& served) const {
    std::vector<const Client*> found;
    std::ranges::copy_if(served.clients, std::back_inserter(found), [&](const Client* client) {
        return client->socket() != nullptr && !client->is_closed() &&
               kernel_.has_peer_of(*client->socket());
    });
    return found;
}

// Its disk holds a request, or has held it until just now. The disk may have begun to hang during the loss.
bool Boot::may_keep_power(const Served& served) const {
    if (hung_file_ == nullptr || served.file != hung_file_) return false;
    const bool just_now = went_on_at_ > 0 && timeline_.now() - went_on_at_ < last_held_ns_max;
    return hung_file_->held() > 0 || just_now;
}

// All exports at once, or one. Without a cache among them, nothing happens.
void Boot::lose_power() {
    Random random(seed_, power_stream + ++power_losses_);
    std::vector<Served*> chosen;
    const uint64_t only = random.one_in(2) ? random.below(exports_.size()) : exports_.size();
    for (size_t i = 0; i < exports_.size(); ++i) {
        if (only == exports_.size() || only == i) chosen.push_back(&exports_[i]);
    }
    const bool any =
        std::ranges::any_of(chosen, [](auto* served) { return served->plan.cache.has_value(); });
    std::vector<size_t> devices;
    std::vector<const Client*> clients;
    for (Served* const served : chosen) {
        devices.push_back(device_of(*served));
        if (!any) continue;
        // Some requests have no answer.
        served->with_liars = served->closes = served->lost_power = true;
        for (Client* client : served->clients) client->may_be_closed();
        std::ranges::copy(connected(*served), std::back_inserter(clients));
    }
    std::vector<nbd::PowerLoss> losses;
    std::vector<Setting> before;
    if (any) {
        std::ranges::transform(chosen, std::back_inserter(before),
                               [&](Served* served) { return without_power(*served); });
    }
    executor_.wait();
    try {
        losses = server_->lose_power(devices);
        if (!any) judge_.fail("devices without a cache have lost power");
    } catch (const std::runtime_error& error) {
        // No worker waits for a disk: each has closed its connections.
        const bool of_requests =
            std::string_view(error.what()).starts_with("the connections are closed");
        const bool held =
            std::ranges::any_of(chosen, [&](auto* served) { return may_keep_power(*served); });
        if (any && !(held && of_requests))
            judge_.fail(std::string("power was not lost: ") + error.what());
        for (const auto& client : clients_) {  // the time of its handshake may be over
            if (!client->is_in()) client->may_be_closed();
        }
    }
    for (size_t i = 0; i < losses.size(); ++i) power_was_lost(*chosen[i], losses[i]);
    for (size_t i = 0; i < before.size(); ++i) begin_setting(*chosen[i], before[i]);
    executor_.go_on();
    if (clients.empty()) return;
    const auto all_closed = [&] {
        return std::ranges::all_of(
            clients, [](const Client* client) { return client->is_closed() || client->over(); });
    };
    const hrtime_t since = timeline_.now();
    step_until([&] { return crashed_ || all_closed(); }, closed_ns_max,
               "clients of a device without power");
    if (timeline_.now() - since > closed_ns_max)
        judge_.fail("connected long after a loss of power");
    for (unsigned i = 0; i < plan_.clients.size() && !crashed_; ++i) {
        const auto* const served = &exports_[plan_.client_export[i]];
        const bool lost = std::ranges::find(chosen, served) != chosen.end();
        if (lost && random.one_in(2) && !plan_.cuts.clients.contains(i)) make_client(i);
    }
}

void Boot::power_was_lost(Served& served, const nbd::PowerLoss& loss) {
    if (loss.cached != served.plan.cache.has_value())
        judge_.fail("a loss of power without its cache");
    if (!served.plan.cache) return;
    if (!loss.survival) return judge_.fail("a loss of power that a file refused");
    const model::CrashCache::Survival& left = *loss.survival;
    const uint32_t cache_bytes = served.plan.cache->block_bytes;
    if (left.durable + left.latest + left.between + left.torn != left.blocks ||
        (left.torn > 0 && cache_bytes == sector_bytes)) {
        judge_.fail("a loss of power that does not add up: " + left.text());
    }
    const kstat_io_t& io = server_->device(device_of(served)).io();
    if (io.wcnt != 0 || io.rcnt != 0) judge_.fail("requests are under way after a loss of power");
    const Image content = served.file ? served.file->cached() : image_of(*served.store);
    const std::string wrong = served.oracle->power_lost(content, cache_bytes, timeline_.now());
    if (!wrong.empty()) judge_.fail("after a loss of power: " + wrong);
}

}  // namespace blkscope::simulation
