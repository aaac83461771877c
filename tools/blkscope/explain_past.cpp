#include "tools/blkscope/explain_past.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/stage_line.hpp"
#include "tools/blkscope/trace_collection.hpp"
#include "tools/blkscope/trace_file.hpp"
#include "tools/program/print.hpp"

namespace blkscope {
namespace {

using Moment = int64_t (*)(const trace::Request&);  // 0: unknown

template <int64_t trace::Request::*Stamp>
int64_t stamp(const trace::Request& request) {
    return request.*Stamp;
}

// Without its time in the queue, the device had the request from its arrival on.
int64_t entered(const trace::Request& request) {
    return request.entered();
}

struct PastStage {
    std::string_view name;
    Moment begin;
    Moment end;
    std::string_view advice;
};

constexpr std::array stages{
    PastStage{"receive", stamp<&trace::Request::received>, stamp<&trace::Request::queued>,
              "requests were held back before the device, for their data or for memory"},
    PastStage{"wait", entered, stamp<&trace::Request::started>,
              "requests waited for a place in the depth, or for tokens of a limit"},
    PastStage{"service", stamp<&trace::Request::started>, stamp<&trace::Request::finished>,
              "it is what the backing took"},
    PastStage{"reply", stamp<&trace::Request::finished>, stamp<&trace::Request::replied>,
              "clients took their answers slowly"}};

// A client with so much of the service is the reason why the others waited.
constexpr double busy_part = 0.8;

struct Times {
    std::vector<int64_t> ns;  // of the requests with both stamps
    double sum = 0;

    [[nodiscard]] double mean() const {
        return ns.empty() ? 0 : sum / static_cast<double>(ns.size());
    }
};

Times times_of(const std::vector<trace::Request>& requests, const PastStage& stage) {
    Times times;
    for (const trace::Request& request : requests) {
        const int64_t begin = stage.begin(request);
        const int64_t end = stage.end(request);
        if (begin <= 0 || end < begin) continue;
        times.ns.push_back(end - begin);
        times.sum += static_cast<double>(end - begin);
    }
    return times;
}

uint64_t p99_of(std::vector<int64_t> ns) {
    const auto place = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(ns.size()))) - 1;
    std::nth_element(ns.begin(), ns.begin() + static_cast<ptrdiff_t>(place), ns.end());
    return static_cast<uint64_t>(ns[place]);
}

// "client-1 had 99 % of the service" if others were there; else empty.
std::string busy_client_text(const std::vector<trace::Request>& requests) {
    std::map<std::string, double> served;
    double all = 0;
    for (const trace::Request& request : requests) {
        const auto ns = static_cast<double>(
            std::max<int64_t>(request.started > 0 ? request.finished - request.started : 0, 0));
        served[trace::client_text(request)] += ns;
        all += ns;
    }
    const auto most =
        std::ranges::max_element(served, {}, [](const auto& each) { return each.second; });
    if (served.size() < 2 || most->second < busy_part * all) return {};
    return fmt::format(
        "{} had {:.0f} % of the disk, and the others waited behind its requests; "
        "order=fair or client-limit= of 'blkscope set' keeps it from that",
        most->first, most->second / all * 100);
}

std::string sentence(const std::vector<trace::Request>& requests, const PastStage& most,
                     double share) {
    std::string advice(most.advice);
    if (most.name == "service") {
        double drawn = 0;
        for (const trace::Request& request : requests) {
            drawn += static_cast<double>(request.drawn_ns);
        }
        if (drawn > times_of(requests, most).sum / 2) advice = "a model or a fault decided it";
    }
    const std::string busy = most.name == "wait" ? busy_client_text(requests) : "";
    return fmt::format("\nMost of the time, {:.0f} %, was {}: {}.\n", share * 100, most.name,
                       busy.empty() ? advice : busy);
}

}  // namespace

bool is_of_the_past(const ExplainCommand& command) {
    return !command.last.empty() || std::filesystem::is_regular_file(command.device);
}

std::string past_text(const std::string& name, const trace::Trace& trace) {
    std::vector<trace::Request> requests;
    std::ranges::copy_if(trace.requests, std::back_inserter(requests),
                         [](const trace::Request& each) { return each.transfers(); });
    if (requests.empty()) return name + ": no reads or writes to explain\n";
    int64_t last = 0;
    for (const trace::Request& request : requests) last = std::max(last, request.end());
    std::string text = fmt::format(
        "{}: {} reads and writes in {:.1f} s\n\n  stage               mean  share\n", name,
        requests.size(), static_cast<double>(last - requests.front().arrival()) / 1e9);
    std::array<Times, stages.size()> times;
    double all = 0;
    for (size_t i = 0; i < stages.size(); ++i) {
        times[i] = times_of(requests, stages[i]);
        all += times[i].mean();
    }
    std::string unknown;
    size_t most = 0;
    for (size_t i = 0; i < stages.size(); ++i) {
        const size_t known = times[i].ns.size();
        if (times[i].mean() > times[most].mean()) most = i;
        if (known > 0)
            text += stage_line(stages[i].name, times[i].mean(), all, p99_of(times[i].ns));
        if (known == requests.size()) continue;
        unknown += fmt::format("  {} is not in the trace for {} of them.\n", stages[i].name,
                               requests.size() - known);
    }
    if (!unknown.empty()) text += "\n" + unknown;
    if (trace.lost > 0) {
        text +=
            fmt::format("\n  {} requests were overwritten before they were read.\n", trace.lost);
    }
    if (all == 0) return text + "\nThe trace has no times to explain.\n";
    return text + sentence(requests, stages[most], times[most].mean() / all);
}

void explain_past(const ExplainCommand& command) {
    if (command.last.empty()) {
        const trace::Trace trace = read_trace_file(command.device);
        show_notes(trace, "explain");
        return program::print(past_text(command.device, trace));
    }
    const auto last_ns = static_cast<int64_t>(model::parse_time(command.last).ns());
    const std::string device = device_or_only_one(command.device, "explain");
    TraceCollection collection(device);
    collection.take_recorded();
    trace::Trace trace = collection.result();
    const int64_t since = monotonic_ns() - last_ns;
    std::erase_if(trace.requests, [&](const trace::Request& each) { return each.end() < since; });
    program::print(past_text(fmt::format("{}, the last {}", device, command.last), trace));
}

}  // namespace blkscope
