#include "obedience.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <functional>
#include <limits>
#include <queue>

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

// Whether a bucket that was full at the beginning has anything left after `spent` tokens.
bool has_more(uint64_t rate, uint64_t burst, Wide spent, int64_t ns) {
    return spent * billion < Wide{burst} * billion + Wide{rate} * ns;
}

std::string check_limit(LimitSpec::Name name, const model::Rate& rate, hrtime_t since,
                        hrtime_t until, std::span<const Request> requests) {
    Wide spent = 0;
    for (const Request& request : requests) {
        // One that waited at the change may have paid to the limits before.
        if (request.queued <= since || request.started >= until) continue;
        if (!has_started(request) || request.op == Op::flush || !concerns(name, request.op))
            continue;
        const int64_t ns = request.started - since;
        const uint64_t burst =
            rate.peak == 0 ? std::max<uint64_t>(1, rate.base / 100) : rate.initial;
        const bool peak = rate.peak == 0 ||
                          has_more(rate.peak, std::max<uint64_t>(1, rate.peak / 100), spent, ns);
        if (!peak || !has_more(rate.base, burst, spent, ns)) {
            return std::string(LimitSpec::names[static_cast<size_t>(name)]) +
                   " is exceeded after " + std::to_string(ns) + " ns";
        }
        spent += counts_bytes(name) ? request.bytes : 1;
    }
    return {};
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
            const std::string wrong = check_limit(static_cast<LimitSpec::Name>(name), *rate,
                                                  setting.limits_since, until, requests);
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
