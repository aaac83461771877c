#include "model_obedience.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>

#include "blockdev/model/fault_rule.hpp"

namespace blkscope::simulation {
namespace {

using trace::Op;
using trace::Request;
using Span = KnownModel::Span;

constexpr uint64_t sector = 512;

std::string describe(const Request& request) {
    return std::string(trace::name_of(request.op)) + " of " + std::to_string(request.bytes) +
           " bytes at " + std::to_string(request.offset) + ", started at " +
           std::to_string(request.started);
}

/// The setting in force at the moment; nullptr at a change.
const Setting* setting_at(std::span<const Setting> settings, hrtime_t when) {
    const Setting* found = nullptr;
    for (const Setting& each : settings) {
        if (each.since == when) return nullptr;
        if (each.since < when) found = &each;
    }
    return found;
}

/// Whether a rule that concerns the request may have struck it. A gathered flush runs at some time after its start.
bool may_strike(const KnownRule& rule, const Request& request) {
    const hrtime_t last = request.op == Op::flush ? request.finished : request.started;
    return rule.concerns(request) && rule.added <= last && request.started <= rule.removed &&
           (rule.lasts == 0 || request.started - rule.added <= rule.lasts);
}

bool at_an_edge(const KnownRule& rule, hrtime_t when) {
    return when == rule.added || when == rule.removed ||
           (rule.lasts > 0 && when - rule.added == rule.lasts);
}

Span draws_of(const Setting& setting, const Request& request) {
    return setting.model == nullptr ? Span{} : setting.model->draws(request);
}

bool within(const Span& span, hrtime_t ns, hrtime_t delay) {
    return span.least + delay <= ns && ns <= span.most + delay;
}

/// Whether the request shows that the rule has struck it.
bool is_marked(const KnownRule& rule, const Request& request) {
    if (rule.kind == KnownRule::Kind::error) return request.error == rule.error;
    if (rule.kind != KnownRule::Kind::delay) return false;
    return static_cast<hrtime_t>(request.drawn_ns) >= rule.ns &&
           static_cast<hrtime_t>(request.drawn_ns) < rule.ns + draw_ns_max;
}

// ---- Models ----

// With the model in force at the start; a gathered flush also with a later one.
bool may_have_drawn(const Chronicle& chronicle, const Setting& setting, const Request& request) {
    const auto ns = static_cast<hrtime_t>(request.drawn_ns);
    const auto fits = [&](const Setting& each) {
        const Span span = draws_of(each, request);
        return within(span, ns, 0) ||
               std::ranges::any_of(chronicle.rules, [&](const KnownRule& rule) {
                   return rule.kind == KnownRule::Kind::delay && may_strike(rule, request) &&
                          within(span, ns, rule.ns);
               });
    };
    return fits(setting) || std::ranges::any_of(chronicle.settings, [&](const Setting& each) {
               return request.op == Op::flush && each.since > request.started &&
                      each.since <= request.finished && fits(each);
           });
}

/// When a request goes on that the rule lets hang, unless its client ends before.
hrtime_t hangs_until(const KnownRule& rule, const Request& request) {
    return rule.ns > 0 ? std::min(request.started + rule.ns, rule.removed) : rule.removed;
}

/// When the request has gone on at the latest, if one of the rules has let it hang; else its start.
hrtime_t last_held(const Chronicle& chronicle, const Request& request) {
    hrtime_t last = request.started;
    for (const KnownRule& rule : chronicle.rules) {
        if (rule.kind != KnownRule::Kind::hang || !may_strike(rule, request)) continue;
        last = std::max(last, hangs_until(rule, request));
    }
    return last;
}

// A request that ended early, with its client, keeps its server until its planned end.
hrtime_t server_kept(const Chronicle& chronicle, hrtime_t when) {
    hrtime_t kept = 0;
    for (const Request& request : chronicle.requests) {
        if (request.error != ESHUTDOWN || request.started == 0 || request.started > when) continue;
        kept = std::max(kept, request.started + static_cast<hrtime_t>(request.drawn_ns) - when);
    }
    return kept;
}

std::string check_service(const Chronicle& chronicle, const Request& request,
                          const Graces& graces) {
    const Setting* const setting = setting_at(chronicle.settings, request.started);
    if (setting == nullptr || request.error == ESHUTDOWN) return {};
    const auto drawn = static_cast<hrtime_t>(request.drawn_ns);
    if (!may_have_drawn(chronicle, *setting, request)) {
        return "drawn " + std::to_string(drawn) + " ns for a " + describe(request);
    }
    const hrtime_t served = request.finished - request.started;
    const hrtime_t grace = graces.wake_ns;
    if (served + grace < drawn || request.finished - request.queued < drawn) {
        return "served for " + std::to_string(served) + " ns, not for " + std::to_string(drawn) +
               ", a " + describe(request);
    }
    if (!graces.storage_is_fast) return {};
    const bool has_line = setting->model != nullptr && setting->model->servers > 0;
    if (has_line || request.op == Op::flush) return {};
    const hrtime_t held = last_held(chronicle, request) - request.started;
    if (served <= held + drawn + grace + server_kept(chronicle, request.started)) return {};
    return "served for " + std::to_string(served) + " ns, not for " + std::to_string(drawn) +
           ", a " + describe(request);
}

// What was served up to a moment, of the requests that ended, is no more than the servers' time until then.
std::string check_servers(const KnownModel& model, hrtime_t since, uint32_t depth,
                          std::vector<Request> requests) {
    const uint32_t servers = model.servers > 0 ? model.servers : depth;
    std::ranges::sort(requests, {}, &Request::finished);
    uint64_t served = 0;
    for (const Request& request : requests) {
        served += request.drawn_ns;
        const auto time = static_cast<uint64_t>(request.finished - since);
        if (served <= servers * time) continue;
        return std::to_string(servers) + " servers have served " + std::to_string(served) +
               " ns in " + std::to_string(time);
    }
    return {};
}

// The servers of a line take the requests in the order of their starts. So each ends when it does with servers that
// are never idle and take them at their starts, or earlier.
std::string check_line(const Chronicle& chronicle, const KnownModel& model, hrtime_t since,
                       std::vector<Request> requests, hrtime_t grace) {
    if (model.servers == 0) return {};
    hrtime_t free_at = since;  // a new model's servers may be taken
    for (const Request& request : chronicle.requests) {
        if (request.started <= since && request.finished > since) {
            free_at = std::max<hrtime_t>(free_at, request.finished);
        }
    }
    std::vector<hrtime_t> servers(model.servers, free_at);
    std::ranges::stable_sort(requests, {}, &Request::started);
    for (const Request& request : requests) {
        hrtime_t& first = *std::ranges::min_element(servers);
        const hrtime_t begin = std::max<hrtime_t>(first, request.started);
        first = begin + static_cast<hrtime_t>(request.drawn_ns);
        if (request.error == ESHUTDOWN) continue;
        if (request.finished <= std::max(first, last_held(chronicle, request)) + grace) continue;
        return "ended " + std::to_string(request.finished - first) +
               " ns after the servers could have served it, a " + describe(request);
    }
    return {};
}

// A device has one flush at a time. Those that it serves together draw once.
std::string check_flushes(const Chronicle& chronicle, hrtime_t grace) {
    std::vector<Request> flushes;
    for (const Request& request : chronicle.requests) {
        if (request.op != Op::flush || request.drawn_ns == 0) continue;
        if (request.error != ESHUTDOWN) flushes.push_back(request);
    }
    std::ranges::sort(flushes, {}, &Request::finished);
    for (size_t i = 1; i < flushes.size(); ++i) {
        const hrtime_t between = flushes[i].finished - flushes[i - 1].finished;
        if (between + grace >= static_cast<hrtime_t>(flushes[i].drawn_ns)) continue;
        return "two flushes at a time: " + std::to_string(between) +
               " ns after another one ended a " + describe(flushes[i]);
    }
    return {};
}

std::string check_all_servers(const Chronicle& chronicle, const Graces& graces) {
    const auto& settings = chronicle.settings;
    for (size_t i = 0; i < settings.size(); ++i) {
        const Setting& first = settings[i];
        if (first.model == nullptr || first.model_since != first.since) continue;
        // The requests of a depth before the model still run.
        uint32_t depth = i > 0 ? std::max(first.depth, settings[i - 1].depth) : first.depth;
        hrtime_t until = std::numeric_limits<hrtime_t>::max();
        for (const Setting& later : std::span(settings).subspan(i)) {
            if (later.model_since != first.model_since) {
                until = later.since;
                break;
            }
            depth = std::max(depth, later.depth);
        }
        std::vector<Request> served;
        std::vector<Request> in_line;
        for (const Request& request : chronicle.requests) {
            const bool by_it = request.started > first.since && request.started < until;
            if (!by_it || request.drawn_ns == 0 || !first.model->has(request.op)) continue;
            in_line.push_back(request);
            if (request.error != ESHUTDOWN) served.push_back(request);
        }
        std::string wrong = check_servers(*first.model, first.since, depth, served);
        if (wrong.empty() && graces.storage_is_fast) {
            wrong = check_line(chronicle, *first.model, first.since, in_line, graces.wake_ns);
        }
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// ---- Rules ----

/// How many requests reached a rule: at least, and at most.
struct Reached {
    uint64_t least = 0;
    uint64_t most = 0;
};

// Whether an earlier rule has struck the request; nothing if it does not show that.
std::optional<bool> was_struck_before(const Chronicle& chronicle, const KnownRule& rule,
                                      const Request& request) {
    std::optional<bool> struck = false;
    for (const KnownRule& earlier : chronicle.rules) {
        if (&earlier == &rule) break;
        if (!may_strike(earlier, request)) continue;
        if (is_marked(earlier, request)) return true;
        if (earlier.kind == KnownRule::Kind::hang) struck.reset();
    }
    return struck;
}

// A flush may be served by another one, and a request of a client that is lost ends before it is handed out.
Reached reached(const Chronicle& chronicle, const KnownRule& rule) {
    Reached count;
    for (const Request& request : chronicle.requests) {
        if (request.started == 0 || !may_strike(rule, request)) continue;
        const std::optional<bool> before = was_struck_before(chronicle, rule, request);
        if (before && *before) continue;
        ++count.most;
        const bool certain = before && request.op != Op::flush && request.error != ESHUTDOWN &&
                             !at_an_edge(rule, request.started);
        if (certain) ++count.least;
    }
    return count;
}

std::string check_hits(const KnownRule& rule, const Reached& reached) {
    const auto eligible = [&](uint64_t seen) {
        return seen <= rule.after ? 0 : (seen - rule.after) / rule.every;
    };
    const auto share =
        static_cast<double>(eligible(reached.least)) / static_cast<double>(rule.chance);
    const auto share_most =
        static_cast<double>(eligible(reached.most)) / static_cast<double>(rule.chance);
    const double margin = rule.chance == 1 ? 0 : 6 * std::sqrt(share_most) + 6;
    const auto limit = static_cast<double>(rule.count);
    const auto hits = static_cast<double>(rule.hits);
    if (hits >= std::min(limit, share) - margin && hits <= std::min(limit, share_most + margin))
        return {};
    return "the rule " + rule.text() + " has struck " + std::to_string(rule.hits) + " times of " +
           std::to_string(reached.least) + " to " + std::to_string(reached.most) + " requests";
}

// As many requests as it has struck were held for as long as it says, or until their client ended.
std::string check_hung(const Chronicle& chronicle, const KnownRule& rule) {
    uint64_t held = 0;
    for (const Request& request : chronicle.requests) {
        if (!may_strike(rule, request) || request.started == 0) continue;
        const bool long_enough = request.finished >= hangs_until(rule, request);
        if (long_enough || request.error == ESHUTDOWN) ++held;
    }
    if (held + chronicle.unwanted >= rule.hits) return {};
    return "the rule " + rule.text() + " has struck " + std::to_string(rule.hits) +
           " times, but only " + std::to_string(held) + " requests were held for that long";
}

// The flushes that another one serves share its error, and are not struck.
std::string check_marks(const Chronicle& chronicle, const KnownRule& rule) {
    if (rule.kind == KnownRule::Kind::hang) return check_hung(chronicle, rule);
    uint64_t struck = 0;
    uint64_t flushes = 0;
    for (const Request& request : chronicle.requests) {
        if (!is_marked(rule, request)) continue;
        ++(request.op == Op::flush ? flushes : struck);
        if (may_strike(rule, request)) continue;
        return "the rule " + rule.text() + " has struck a " + describe(request);
    }
    if (struck <= rule.hits && rule.hits <= struck + flushes) return {};
    return "the rule " + rule.text() + " has " + std::to_string(rule.hits) + " hits, but " +
           std::to_string(struck) + " requests and " + std::to_string(flushes) + " flushes show it";
}

}  // namespace

Span KnownModel::draws(const Request& request) const {
    if (!has(request.op)) return {};
    Span span = of[static_cast<size_t>(request.op)];
    const auto bytes = static_cast<hrtime_t>(request.transfers() ? request.bytes : 0);
    span.least += bytes * per_byte;
    span.most += bytes * per_byte;
    const Span& flush = of[static_cast<size_t>(Op::flush)];
    if ((request.flags & trace::flag::fua) != 0) {
        span.least += flush.least;
        span.most += flush.most;
    }
    assert(span.most < draw_ns_max);
    if (request.op == Op::flush) span.least = 0;
    return span;
}

std::string KnownRule::text() const {
    std::string text = op ? (*op == Op::write_zeroes ? "zeroes" : trace::name_of(*op)) : "all";
    const std::string time = std::to_string(ns) + "ns";
    if (kind == Kind::error) text += ":error=" + model::text_of_errno(error);
    if (kind == Kind::delay) text += ":delay=const:" + time;
    if (kind == Kind::hang) text += ns > 0 ? ":hang=" + time : ":hang";
    if (sectors) {
        text +=
            ";sectors=" + std::to_string(sectors->first) + "-" + std::to_string(sectors->second);
    }
    if (chance > 1) text += ";chance=1/" + std::to_string(chance);
    if (after > 0) text += ";after=" + std::to_string(after);
    if (every > 1) text += ";every=" + std::to_string(every);
    if (count < std::numeric_limits<uint64_t>::max()) text += ";count=" + std::to_string(count);
    if (lasts > 0) text += ";for=" + std::to_string(lasts) + "ns";
    return text;
}

bool KnownRule::concerns(const Request& request) const {
    if (request.op == Op::cache || request.op == Op::block_status) return false;
    if (op && *op != request.op) return false;
    if (!sectors) return true;
    if (request.op == Op::flush || request.bytes == 0) return false;
    return request.offset < (sectors->second + 1) * sector &&
           request.offset + request.bytes > sectors->first * sector;
}

uint32_t Chronicle::depth_max() const {
    return std::ranges::max(settings, {}, &Setting::depth).depth;
}

std::string check_models(const Chronicle& chronicle, const Graces& graces) {
    for (const Request& request : chronicle.requests) {
        if (request.started == 0) continue;
        const std::string wrong = check_service(chronicle, request, graces);
        if (!wrong.empty()) return wrong;
    }
    const std::string wrong = check_flushes(chronicle, graces.wake_ns);
    return wrong.empty() ? check_all_servers(chronicle, graces) : wrong;
}

std::string check_rules(const Chronicle& chronicle) {
    for (const KnownRule& rule : chronicle.rules) {
        std::string wrong = check_marks(chronicle, rule);
        if (wrong.empty()) wrong = check_hits(rule, reached(chronicle, rule));
        if (!wrong.empty()) return wrong;
    }
    return {};
}

}  // namespace blkscope::simulation
