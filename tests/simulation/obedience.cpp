#include "obedience.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <utility>

namespace blkscope::simulation {
namespace {

using model::LimitSpec;
using trace::Op;
using trace::Request;
__extension__ using Wide = __int128;

constexpr Wide billion = 1'000'000'000;

// A waiting request of a client that is lost ends without a start, though it has both stamps. One that hung has the same
// error.
bool has_started(const Request& request) {
    constexpr int64_t reading_ns_max = 1'000;  // of the clock, twice
    const bool served =
        request.error != ESHUTDOWN || request.finished - request.started > reading_ns_max;
    return request.started > 0 && served;
}

// Flushes that another one serves take no place, and the records do not tell them apart.
bool takes_a_place(const Request& request) {
    return has_started(request) && request.op != Op::flush;
}

std::string check_depth(std::span<const Setting> settings, std::span<const Request> requests) {
    std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends;
    size_t next = 0;
    uint32_t depth = 0;
    for (const Request& request : requests) {
        if (!takes_a_place(request)) continue;
        uint32_t most = depth;  // at the moment of a change the old depth may count, too
        while (next < settings.size() && settings[next].since <= request.started) {
            if (settings[next].since < request.started) most = 0;
            depth = settings[next++].depth;
            most = std::max(most, depth);
        }
        while (!ends.empty() && ends.top() <= request.started) ends.pop();
        ends.push(request.finished);
        if (depth > 0 && ends.size() > most) {
            return std::to_string(ends.size()) + " requests run at a depth of " +
                   std::to_string(most);
        }
    }
    return {};
}

// A client's requests of one operation wait for the same buckets, so none overtakes another. A change may put some that
// wait into another line. `requests` by their start.
std::string check_order(std::span<const Setting> settings, std::span<const Request> requests) {
    std::map<std::pair<uint32_t, Op>, hrtime_t> latest;  // that was queued
    for (const Request& request : requests) {
        if (!takes_a_place(request)) continue;
        hrtime_t& queued = latest[{request.client, request.op}];
        const auto change = std::ranges::lower_bound(settings, request.queued, {}, &Setting::since);
        const bool moved = change != settings.end() && change->since <= request.started;
        if (request.queued < queued && !moved) {
            return "a request started that was queued at " + std::to_string(request.queued) +
                   ", after one of its client that was queued at " + std::to_string(queued);
        }
        queued = std::max<hrtime_t>(queued, request.queued);
    }
    return {};
}

// The operations of each name, as the manual page lists them.
bool concerns(LimitSpec::Name name, Op op) {
    if (op == Op::block_status) return false;
    const bool reads = op == Op::read || op == Op::cache;
    switch (name) {
        case LimitSpec::Name::iops:
            return true;
        case LimitSpec::Name::read_iops:
            return reads;
        case LimitSpec::Name::write_iops:
            return !reads;
        case LimitSpec::Name::bps:
            return op == Op::read || op == Op::write;
        case LimitSpec::Name::read_bps:
            return op == Op::read;
        case LimitSpec::Name::write_bps:
            return op == Op::write;
    }
    return false;
}

bool counts_bytes(LimitSpec::Name name) {
    return name == LimitSpec::Name::bps || name == LimitSpec::Name::read_bps ||
           name == LimitSpec::Name::write_bps;
}

// A bucket in the plainest form. A request may start if anything is in it, and pays its cost.
class Bucket {
  public:
    Bucket(uint64_t rate, uint64_t capacity, uint64_t tokens)
        : rate_(rate), capacity_(Wide{capacity} * billion), level_(Wide{tokens} * billion) {}

    void pass(int64_t ns) { level_ = std::min(capacity_, level_ + Wide{rate_} * ns); }
    void pay(uint64_t tokens) { level_ -= Wide{tokens} * billion; }
    [[nodiscard]] bool has_more_than(Wide tokens) const { return level_ > tokens * billion; }
    /// How long until there is anything in it.
    [[nodiscard]] int64_t lacks_ns() const {
        return level_ > 0 ? 0 : static_cast<int64_t>(-level_ / rate_ + 1);
    }

  private:
    uint64_t rate_;
    Wide capacity_;
    Wide level_;
};

uint64_t ten_ms_of(uint64_t rate) {
    return std::max<uint64_t>(1, rate / 100);
}

/// The buckets of a device or of a client since its limits were set.
class Buckets {
  public:
    Buckets(const LimitSpec& spec, hrtime_t since) : unit_bytes_(spec.unit_bytes), now_(since) {
        for (size_t i = 0; i < LimitSpec::name_count; ++i) {
            const auto& rate = spec.rates[i];
            if (!rate) continue;
            const auto name = static_cast<LimitSpec::Name>(i);
            const bool credits = rate->peak != 0;
            const uint64_t most = credits ? rate->credits : ten_ms_of(rate->base);
            all_.push_back({name, {rate->base, most, credits ? rate->initial : most}});
            if (!credits) continue;
            const uint64_t peak = ten_ms_of(rate->peak);
            all_.push_back({name, {rate->peak, peak, peak}});
        }
    }

    void pass_to(hrtime_t now) {
        for (auto& [name, bucket] : all_) bucket.pass(now - now_);
        now_ = now;
    }
    /// The first bucket that lacks tokens for a start, if `ahead` requests like the largest may have paid.
    [[nodiscard]] std::string exceeded_by(const Request& request, Wide ahead, uint64_t bytes_max) {
        for (const auto& [name, bucket] : all_) {
            if (!concerns(name, request.op)) continue;
            const Wide each = cost(name, bytes_max, true);
            if (!bucket.has_more_than(-ahead * each)) {
                return std::string(LimitSpec::names[static_cast<size_t>(name)]);
            }
        }
        return {};
    }
    void pay(const Request& request) {
        for (auto& [name, bucket] : all_) {
            if (!concerns(name, request.op)) continue;
            bucket.pay(cost(name, request.bytes, request.transfers()));
        }
    }
    /// When the buckets of an operation all have tokens.
    [[nodiscard]] hrtime_t ready_at(Op op) const {
        hrtime_t ready = now_;
        for (const auto& [name, bucket] : all_) {
            if (concerns(name, op)) ready = std::max(ready, now_ + bucket.lacks_ns());
        }
        return ready;
    }

  private:
    [[nodiscard]] uint64_t cost(LimitSpec::Name name, uint64_t bytes, bool transfers) const {
        if (counts_bytes(name)) return bytes;
        if (!transfers || unit_bytes_ == 0 || bytes == 0) return 1;
        return (bytes + unit_bytes_ - 1) / unit_bytes_;
    }

    uint64_t unit_bytes_;
    hrtime_t now_;
    std::vector<std::pair<LimitSpec::Name, Bucket>> all_;
};

// A request that waits for nothing but its client's turn has paid, one of each client at most. So that many may be
// ahead of the tokens, with the largest cost of each.
std::string check_spec(const LimitSpec& spec, hrtime_t since, hrtime_t until, Wide ahead,
                       std::span<const Request> requests) {
    Buckets buckets(spec, since);
    uint64_t bytes_max = 1;
    for (const Request& request : requests) bytes_max = std::max(bytes_max, request.bytes);
    for (const Request& request : requests) {
        if (!has_started(request) || request.started <= since || request.started >= until) continue;
        buckets.pass_to(request.started);
        const std::string exceeded = buckets.exceeded_by(request, ahead, bytes_max);
        if (!exceeded.empty()) {
            return exceeded + " is exceeded after " + std::to_string(request.started - since) +
                   " ns";
        }
        buckets.pay(request);
    }
    return {};
}

std::map<uint32_t, std::vector<Request>> by_client(std::span<const Request> requests) {
    std::map<uint32_t, std::vector<Request>> all;
    for (const Request& request : requests) all[request.client].push_back(request);
    return all;
}

// Each span of a limit, from the setting that began it to the one that replaced it.
template <class Check>
std::string check_spans(std::span<const Setting> settings,
                        std::optional<LimitSpec> Setting::*limits, hrtime_t Setting::*limits_since,
                        Check check) {
    for (size_t i = 0; i < settings.size(); ++i) {
        const hrtime_t since = settings[i].*limits_since;
        const bool first = i == 0 || settings[i - 1].*limits_since != since;
        if (!(settings[i].*limits) || !first) continue;
        hrtime_t until = std::numeric_limits<hrtime_t>::max();
        for (const Setting& later : settings.subspan(i)) {
            if (later.*limits_since == since) continue;
            until = later.*limits_since;
            break;
        }
        const std::string wrong = check(*(settings[i].*limits), since, until);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

std::string check_limits(std::span<const Setting> settings, std::span<const Request> requests) {
    const auto clients = by_client(requests);
    const std::string wrong = check_spans(
        settings, &Setting::limits, &Setting::limits_since, [&](const auto& spec, auto... span) {
            return check_spec(spec, span..., static_cast<Wide>(clients.size()), requests);
        });
    if (!wrong.empty()) return wrong;
    return check_spans(settings, &Setting::client_limits, &Setting::client_limits_since,
                       [&](const auto& spec, auto... span) -> std::string {
                           for (const auto& [client, own] : clients) {
                               if (client == 0) continue;  // has no limits of its own
                               const std::string of_client = check_spec(spec, span..., 1, own);
                               if (!of_client.empty()) return "of a client: " + of_client;
                           }
                           return {};
                       });
}

// ---- No start too late ----

/// What has happened to a device up to a moment.
class Progress {
  public:
    explicit Progress(std::span<const Request> requests) : requests_(requests) {}

    void apply(const Setting& setting) {
        if (setting.limits_since == setting.since) {
            device_.reset();
            if (setting.limits) device_ = std::make_unique<Buckets>(*setting.limits, setting.since);
        }
        if (setting.client_limits_since == setting.since) clients_.clear();
        spec_ = setting.client_limits;
        depth_ = setting.depth;
    }
    void queue(size_t index, hrtime_t now) {
        waiting_.push_back(index);
        const uint32_t client = requests_[index].client;
        if (spec_ && client != 0) clients_.try_emplace(client, *spec_, now);
    }
    void start(size_t index) {
        std::erase(waiting_, index);
        ++running_;
        const Request& request = requests_[index];  // may have paid, even if it was not served
        if (device_) device_->pay(request);
        if (Buckets* own = own_of(request)) own->pay(request);
    }
    void end() { --running_; }
    void pass_to(hrtime_t now) {
        now_ = now;
        if (device_) device_->pass_to(now);
        for (auto& [client, buckets] : clients_) buckets.pass_to(now);
    }
    /// When one of the waiting requests can start; nothing if none can before another has ended.
    [[nodiscard]] std::optional<hrtime_t> can_start_at() {
        std::optional<hrtime_t> first;
        if (depth_ == 0 || running_ >= depth_) return first;
        for (const size_t index : waiting_) {
            const Request& request = requests_[index];
            hrtime_t ready = device_ ? device_->ready_at(request.op) : now_;
            if (const Buckets* own = own_of(request)) {
                ready = std::max(ready, own->ready_at(request.op));
            }
            first = std::min(first.value_or(ready), ready);
        }
        return first;
    }

  private:
    // Those that wait when clients get limits have full buckets when they are first looked at.
    Buckets* own_of(const Request& request) {
        if (!spec_ || request.client == 0) return nullptr;
        return &clients_.try_emplace(request.client, *spec_, now_).first->second;
    }

    std::span<const Request> requests_;
    std::unique_ptr<Buckets> device_;
    std::optional<LimitSpec> spec_;
    std::map<uint32_t, Buckets> clients_;
    std::vector<size_t> waiting_;
    hrtime_t now_ = 0;
    uint32_t depth_ = 0;
    uint32_t running_ = 0;  // gathered flushes, too
};

struct Happening {
    enum class What : uint8_t { end, setting, queue, start };
    hrtime_t when;
    What what;
    size_t index;
};

std::vector<Happening> happenings(std::span<const Setting> settings,
                                  std::span<const Request> requests) {
    using What = Happening::What;
    std::vector<Happening> all;
    for (size_t i = 0; i < settings.size(); ++i) {
        all.push_back({settings[i].since, What::setting, i});
    }
    for (size_t i = 0; i < requests.size(); ++i) {
        const Request& request = requests[i];
        if (request.started == 0) continue;
        all.push_back({request.queued, What::queue, i});
        all.push_back({request.started, What::start, i});
        all.push_back({request.finished, What::end, i});
    }
    // A request may do all three at one moment, in this order.
    std::ranges::stable_sort(all, {}, &Happening::when);
    return all;
}

}  // namespace

std::string check_obedience(std::span<const Setting> settings, std::vector<Request> requests) {
    assert(std::ranges::is_sorted(settings, {}, &Setting::since));
    std::ranges::stable_sort(requests, {}, &Request::started);
    std::string wrong = check_depth(settings, requests);
    if (wrong.empty()) wrong = check_order(settings, requests);
    return wrong.empty() ? check_limits(settings, requests) : wrong;
}

std::string check_idle(std::span<const Setting> settings, std::span<const Request> requests,
                       hrtime_t grace) {
    using What = Happening::What;
    Progress progress(requests);
    std::optional<hrtime_t> since;  // a request could have started
    for (const auto& [when, what, index] : happenings(settings, requests)) {
        if (since && *since + grace < when) {
            return "nothing started for " + std::to_string(when - *since) +
                   " ns, though a request could, until " + std::to_string(when);
        }
        progress.pass_to(when);
        if (what == What::setting) progress.apply(settings[index]);
        if (what == What::queue) progress.queue(index, when);
        if (what == What::start) progress.start(index);
        if (what == What::end) progress.end();
        const std::optional<hrtime_t> now = progress.can_start_at();
        const bool anew = what == What::start || what == What::setting || !since || !now;
        since = anew ? now : std::min(*since, *now);
    }
    return {};
}

}  // namespace blkscope::simulation
