#include "obedience.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <functional>
#include <limits>
#include <queue>
#include <set>

namespace blkscope::simulation {
namespace {

using model::LimitSpec;
using trace::Op;
using trace::Request;
__extension__ using Wide = __int128;

constexpr Wide billion = 1'000'000'000;

// A waiting request of a closed client ends without a start, though it has both stamps. One that a fault let hang
// has the same error; it is left out, too.
bool has_started(const Request& request) {
    return request.started > 0 && request.error != ESHUTDOWN;
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
    Bucket(uint64_t rate, uint64_t capacity) : rate_(rate), capacity_(Wide{capacity} * billion) {
        level_ = capacity_;
    }
    void pass(int64_t ns) { level_ = std::min(capacity_, level_ + Wide{rate_} * ns); }
    void pay(uint64_t tokens) { level_ -= Wide{tokens} * billion; }
    [[nodiscard]] bool has_more_than(Wide tokens) const { return level_ > tokens * billion; }

  private:
    uint64_t rate_;
    Wide capacity_;
    Wide level_ = 0;
};

uint64_t ten_ms_of(uint64_t rate) {
    return std::max<uint64_t>(1, rate / 100);
}

// A request that waits for nothing but its client's turn has paid, one of each client at most. So that many may be
// ahead of the tokens, with the largest cost of each.
std::string check_limit(LimitSpec::Name name, const Setting& setting, hrtime_t until, Wide ahead,
                        std::span<const Request> requests) {
    const model::Rate& rate = *setting.limits->rates[static_cast<size_t>(name)];
    Bucket base(rate.base, rate.peak == 0 ? ten_ms_of(rate.base) : rate.credits);
    std::optional<Bucket> peak;
    if (rate.peak != 0) peak.emplace(rate.peak, ten_ms_of(rate.peak));
    hrtime_t now = setting.limits_since;
    for (const Request& request : requests) {
        if (request.started <= setting.limits_since || request.started >= until) continue;
        if (!has_started(request) || request.op == Op::flush) continue;
        if (!concerns(name, request.op)) continue;
        const uint64_t cost = counts_bytes(name) ? request.bytes : 1;
        base.pass(request.started - now);
        if (peak) peak->pass(request.started - now);
        now = request.started;
        if (!base.has_more_than(-ahead) || (peak && !peak->has_more_than(-ahead))) {
            return std::string(LimitSpec::names[static_cast<size_t>(name)]) +
                   " is exceeded after " + std::to_string(now - setting.limits_since) + " ns";
        }
        base.pay(cost);
        if (peak) peak->pay(cost);
    }
    return {};
}

Wide ahead_of(LimitSpec::Name name, std::span<const Request> requests) {
    std::set<uint32_t> clients;
    uint64_t bytes = 1;
    for (const Request& request : requests) {
        clients.insert(request.client);
        bytes = std::max(bytes, request.bytes);
    }
    return Wide{clients.size()} * (counts_bytes(name) ? bytes : 1);
}

std::string check_limits(std::span<const Setting> settings, std::span<const Request> requests) {
    for (size_t i = 0; i < settings.size(); ++i) {
        const Setting& setting = settings[i];
        const bool first = i == 0 || settings[i - 1].limits_since != setting.limits_since;
        if (!setting.limits || !first) continue;
        hrtime_t until = std::numeric_limits<hrtime_t>::max();
        for (const Setting& later : settings.subspan(i)) {
            if (later.limits_since == setting.limits_since) continue;
            until = later.limits_since;
            break;
        }
        for (size_t name = 0; name < LimitSpec::name_count; ++name) {
            const auto& rate = setting.limits->rates[name];
            if (!rate || setting.limits->unit_bytes != 0) continue;
            const auto which = static_cast<LimitSpec::Name>(name);
            const std::string wrong =
                check_limit(which, setting, until, ahead_of(which, requests), requests);
            if (!wrong.empty()) return wrong;
        }
    }
    return {};
}

}  // namespace

std::string check_obedience(std::span<const Setting> settings, std::vector<Request> requests) {
    assert(std::ranges::is_sorted(settings, {}, &Setting::since));
    std::ranges::stable_sort(requests, {}, &Request::started);
    const std::string deep = check_depth(settings, requests);
    return deep.empty() ? check_limits(settings, requests) : deep;
}

}  // namespace blkscope::simulation
