#include "tools/blkscope/explain_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tools/blkscope/stage_line.hpp"
#include "tools/blkscope/trace_collection.hpp"
#include "tools/blkscope/trace_file.hpp"
#include "tools/program/print.hpp"
#include "trace/join.hpp"

namespace blkscope {
namespace {

constexpr size_t slowest_shown = 10;

// ---- Where the time went ----

// The mean times of a request at both servers.
struct ChainMeans {
    double wait = 0;
    double service = 0;
    double upstream_wait = 0;
    double upstream_service = 0;

    [[nodiscard]] double rest() const { return service - upstream_wait - upstream_service; }
};

// `part` of the second server's time was for requests of the first.
ChainMeans means_of(const trace::CommonSums& sums, double part) {
    const auto count = static_cast<double>(sums.first.count);
    return {.wait = sums.first.wait_ns / count,
            .service = sums.first.service_ns / count,
            .upstream_wait = sums.second.wait_ns * part / count,
            .upstream_service = sums.second.service_ns * part / count};
}

std::string sentence_of(const ChainMeans& means, const std::string& first,
                        const std::string& second) {
    const std::string advice =
        "a larger --queue-depth there, or fewer requests at once, would "
        "shorten it";
    const std::array parts{
        std::pair{means.wait, fmt::format("the wait at {}: {}", first, advice)},
        std::pair{means.upstream_wait, fmt::format("the wait at {}: {}", second, advice)},
        std::pair{means.upstream_service,
                  fmt::format("the service of {}: its backing decides it", second)},
        std::pair{means.rest(),
                  std::string("the rest: the way between the servers, and their own work")}};
    const auto& [ns, words] = *std::ranges::max_element(parts);
    const double all = means.wait + means.service;
    return fmt::format("\nMost of the time, {:.0f} %, is {}.\n", all > 0 ? ns / all * 100 : 0,
                       words);
}

std::string table_of(const ChainMeans& means) {
    const double all = means.wait + means.service;
    return "  stage               mean  share\n" + stage_line("wait", means.wait, all) +
           stage_line("service", means.service, all) +
           stage_line("  up-wait", means.upstream_wait, all) +
           stage_line("  up-service", means.upstream_service, all) +
           stage_line("  rest", means.rest(), all);
}

// ---- The slowest ----

int64_t wait_of(const trace::Request& request) {
    assert(request.has_stages());
    return request.started - request.entered();
}

int64_t service_of(const trace::Request& request) {
    assert(request.has_service());
    return request.finished - request.started;
}

constexpr const char* slow_form = "  {:<6} {:>12} {:>8} {:>9} {:>9} {:>9} {:>10} {:>8}\n";

// A request without a partner has dashes for what the second server did.
std::string slow_line(const trace::Request& first, const trace::Request* second) {
    const auto at_second = [&](auto stage) { return second == nullptr ? "-" : stage(*second); };
    const int64_t service = service_of(first);
    return fmt::format(
        slow_form, short_name_of(first.op), first.offset, first.bytes, ms_text(wait_of(first)),
        ms_text(service),
        at_second([](const trace::Request& one) { return ms_text(wait_of(one)); }),
        at_second([](const trace::Request& one) { return ms_text(service_of(one)); }),
        at_second([&](const trace::Request& one) {
            return ms_text(service - (one.finished - one.entered()));
        }));
}

// The requests with the longest service, the slowest first.
std::vector<size_t> slowest_of(const trace::Trace& trace) {
    std::vector<size_t> slowest;
    for (size_t i = 0; i < trace.requests.size(); ++i) {
        if (trace.requests[i].has_stages()) slowest.push_back(i);
    }
    const auto shown = static_cast<ptrdiff_t>(std::min(slowest.size(), slowest_shown));
    std::ranges::partial_sort(slowest, slowest.begin() + shown, std::greater{},
                              [&](size_t i) { return service_of(trace.requests[i]); });
    slowest.resize(static_cast<size_t>(shown));
    return slowest;
}

std::string slowest_text(const trace::Trace& first, const trace::Trace& second,
                         const trace::Join& join) {
    std::string text = fmt::format("\nThe slowest, in milliseconds:\n{}",
                                   fmt::format(slow_form, "op", "offset", "bytes", "wait",
                                               "service", "up-wait", "up-service", "rest"));
    for (const size_t index : slowest_of(first)) {
        const auto pair =
            std::ranges::lower_bound(join.pairs, index, {}, &trace::JoinedPair::first);
        const bool is_joined = pair != join.pairs.end() && pair->first == index;
        text +=
            slow_line(first.requests[index], is_joined ? &second.requests[pair->second] : nullptr);
    }
    return text;
}

// ---- The screen ----

std::string counts_text(const trace::Join& join, size_t requests, const NamedTrace& first,
                        const NamedTrace& second) {
    std::string text = fmt::format("{} in front of {}: {} of {} requests joined one by one\n",
                                   first.name, second.name, join.pairs.size(), requests);
    const std::array others{
        std::pair{join.without_cookie, "without a cookie: sent in parts, or not at all"},
        std::pair{join.missing, "not in the other trace"},
        std::pair{join.ambiguous, "that fit several others"},
        std::pair{join.outside,
                  "outside of the other trace's time, or without a known start and end"}};
    for (const auto& [count, words] : others) {
        if (count > 0) text += fmt::format("  {} {}\n", count, words);
    }
    for (const NamedTrace* one : {&first, &second}) {
        if (one->trace.lost == 0) continue;
        text += fmt::format("  {} records of {} were overwritten before they were read\n",
                            one->trace.lost, one->name);
    }
    return text;
}

trace::CommonSums joined_sums(const trace::Trace& first, const trace::Trace& second,
                              const trace::Join& join) {
    trace::CommonSums sums;
    for (const trace::JoinedPair& pair : join.pairs) {
        const trace::Request& request = first.requests[pair.first];
        if (!request.transfers()) continue;
        sums.first.add(request);
        sums.second.add(second.requests[pair.second]);
    }
    return sums;
}

// Without cookies, the first has a part of the second server's time, by bytes. None: nothing to compare.
std::optional<ChainMeans> add_means_of_all(std::string& text, const trace::CommonSums& sums,
                                           const std::string& second) {
    text += fmt::format("\nAll reads and writes in the time of both, by means: {} and {}\n",
                        sums.first.count, sums.second.count);
    if (sums.first.count == 0 || sums.second.bytes <= 0) return {};
    const double part = std::min(sums.first.bytes / sums.second.bytes, 1.0);
    if (part < 0.995) {
        text +=
            fmt::format("  {} had other requests, too: {:.0f} % of its time, by bytes, is taken\n",
                        second, part * 100);
    }
    const ChainMeans means = means_of(sums, part);
    text += table_of(means);
    return means;
}

// ---- The traces ----

// "nbd0", or "nbd0@4711". Other names are files.
bool is_device(std::string_view name) {
    if (!name.starts_with("nbd")) return false;
    name.remove_prefix(3);
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    return digits > 0 && (digits == name.size() || name[digits] == '@');
}

using Traces = std::pair<trace::Trace, trace::Trace>;

// A request that ends at the first has ended at the second before. So the second one's records are
// begun earlier and finished later.
Traces from_servers(const ChainCommand& command) {
    TraceCollection second(command.second);
    TraceCollection first(command.first);
    const std::array both{&first, &second};
    collect_until(both, monotonic_ns() + static_cast<hrtime_t>(command.interval_s * 1e9));
    return {first.result(), second.result()};
}

Traces traces_of(const ChainCommand& command) {
    if (is_device(command.first) != is_device(command.second)) {
        throw std::invalid_argument("explain: give two devices, or two files");
    }
    if (is_device(command.first)) return from_servers(command);
    Traces traces{read_trace_file(command.first), read_trace_file(command.second)};
    show_notes(traces.first, "explain: " + command.first);
    show_notes(traces.second, "explain: " + command.second);
    return traces;
}

}  // namespace

std::string chain_text(const NamedTrace& first, const NamedTrace& second) {
    const trace::Join join = trace::join(first.trace, second.trace);
    const size_t requests = first.trace.requests.size();
    std::string text = counts_text(join, requests, first, second);
    if (requests == 0) return text + "\nThere were no requests to explain.\n";
    if (!join.pairs.empty()) text += slowest_text(first.trace, second.trace, join);
    const trace::CommonSums all = trace::common_sums(first.trace, second.trace);
    const trace::CommonSums joined = joined_sums(first.trace, second.trace, join);
    std::optional<ChainMeans> means;
    if (joined.first.count > 0) {
        means = means_of(joined, 1);
        text += fmt::format("\nThe means of {} joined reads and writes:\n", joined.first.count);
        text += table_of(*means);
    }
    if (!means || joined.first.count + join.outside < all.first.count) {
        const auto of_all = add_means_of_all(text, all, second.name);
        if (!means) means = of_all;
    }
    return means ? text + sentence_of(*means, first.name, second.name) : text;
}

void explain_chain(const ChainCommand& command) {
    const auto [first, second] = traces_of(command);
    program::print(chain_text({command.first, first}, {command.second, second}));
}

}  // namespace blkscope
