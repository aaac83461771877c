#include "tools/blkscope/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "tools/program/time_text.hpp"

namespace blkscope {
namespace {

constexpr std::array replay_percentiles{std::pair{"p50", 0.5}, std::pair{"p90", 0.9},
                                        std::pair{"p99", 0.99}, std::pair{"max", 1.0}};

std::string short_time(int64_t ns) {
    return program::time_text(static_cast<double>(ns), 3);
}

// The smallest value that the share of all values does not exceed.
int64_t percentile_of(const std::vector<int64_t>& sorted, double share) {
    assert(!sorted.empty());
    const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size()) + 0.999999);
    return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

struct Times {
    std::vector<int64_t> ns;
    size_t requests = 0;
    size_t errors = 0;
};

std::string row_of(const char* op, const char* whose, Times& times) {
    std::sort(times.ns.begin(), times.ns.end());
    std::string text =
        fmt::format("{:<13} {:<7} {:>10} {:>8}", op, whose, times.requests, times.errors);
    for (const auto& [name, share] : replay_percentiles) {
        text += fmt::format(" {:>8}",
                            times.ns.empty() ? "-" : short_time(percentile_of(times.ns, share)));
    }
    return text + "\n";
}

std::string rows_of(trace::Op op, const std::vector<trace::Request>& requests,
                    const std::vector<Replayed>& outcome) {
    Times traced;
    Times replayed;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].op != op) continue;
        ++traced.requests;
        if (requests[i].error != 0) ++traced.errors;
        if (requests[i].has_total()) {
            traced.ns.push_back(requests[i].end() - requests[i].arrival());
        }
        if (outcome[i].took_ns < 0) continue;
        ++replayed.requests;
        if (outcome[i].error != 0) ++replayed.errors;
        replayed.ns.push_back(outcome[i].took_ns);
    }
    if (traced.requests == 0) return {};
    return row_of(trace::name_of(op), "trace", traced) + row_of("", "replay", replayed);
}

std::string rate_of(size_t requests, int64_t span_ns) {
    if (requests < 2 || span_ns <= 0) return "-";
    return fmt::format("{:.1f}/s",
                       static_cast<double>(requests - 1) * 1e9 / static_cast<double>(span_ns));
}

}  // namespace

std::string replay_report(const std::vector<trace::Request>& requests,
                          const std::vector<Replayed>& outcome, const ReplayPace& pace) {
    assert(outcome.size() == requests.size());
    std::vector<int64_t> late;
    int64_t first = 0;
    int64_t last = 0;
    int64_t end = 0;
    for (const Replayed& each : outcome) {
        if (each.sent_ns < 0) continue;
        first = late.empty() ? each.sent_ns : std::min(first, each.sent_ns);
        last = std::max(last, each.sent_ns);
        end = std::max(end, each.sent_ns + each.took_ns);
        late.push_back(each.late_ns);
    }
    std::sort(late.begin(), late.end());
    const std::string reached = rate_of(late.size(), last - first);
    std::string text = fmt::format("{} requests in {:.3f} s: ", late.size(),
                                   static_cast<double>(end - first) / 1e9);
    if (pace.in_flight > 0) {
        text += fmt::format("reached {} with {} under way\n", reached, pace.in_flight);
    } else if (!late.empty()) {
        const int64_t asked = ReplayRun::due_ns(requests.back(), requests.front(), pace.speed);
        text += fmt::format("asked {}, reached {}\nlate: p99 {}, worst {}\n",
                            rate_of(requests.size(), asked), reached,
                            short_time(percentile_of(late, 0.99)), short_time(late.back()));
    }
    text += fmt::format("\n{:<13} {:<7} {:>10} {:>8}", "op", "of", "requests", "errors");
    for (const auto& [name, share] : replay_percentiles) text += fmt::format(" {:>8}", name);
    text += "\n";
    for (uint8_t op = 0; op <= static_cast<uint8_t>(trace::last_op); ++op) {
        text += rows_of(trace::Op{op}, requests, outcome);
    }
    const auto unknown = std::ranges::count(requests, false, &trace::Request::has_total);
    if (unknown == 0 || static_cast<size_t>(unknown) == requests.size()) return text;
    return text + fmt::format(
                      "\nThe trace does not say when {} of its {} requests ended; the times "
                      "above are without them.\n",
                      unknown, requests.size());
}

}  // namespace blkscope
