#include "tools/blkscope/slow_look.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/server_answer.hpp"
#include "tools/blkscope/stage_line.hpp"
#include "tools/program/time_text.hpp"

namespace blkscope {
namespace {

constexpr std::array<int64_t trace::Request::*, 5> stamps{
    &trace::Request::received, &trace::Request::queued, &trace::Request::started,
    &trace::Request::finished, &trace::Request::replied};
constexpr std::array<const char*, 4> stage_names{"receive", "wait", "service", "reply"};

// The stage that has begun last; a request that has ended is beyond the last one.
size_t stage_index(const trace::Request& request) {
    size_t stage = stage_names.size();
    while (stage > 0 && request.*stamps[stage] == 0) --stage;
    return stage;
}

constexpr std::array short_widths{5, 6, 6, 6};  // of the stages
constexpr int short_total_width = 6;

// With as many digits as the column has room for, and three at most.
std::string short_time_text(int64_t ns, size_t width) {
    std::string text;
    for (int digits = 3; digits > 0; --digits) {
        text = program::time_text(static_cast<double>(ns), digits);
        if (text.size() <= width) break;
    }
    return text;
}

std::string duration_text(int64_t ns, SlowLines lines, size_t width) {
    return lines == SlowLines::long_ones ? ms_text(ns) : short_time_text(ns, width);
}

// The stage's length, with a '>' while it lasts, and "-" before it has begun.
std::string stage_text(const trace::Request& request, size_t stage, int64_t now_ns,
                       SlowLines lines) {
    const int64_t from = request.*stamps[stage];
    const int64_t to = request.*stamps[stage + 1];
    const auto width = static_cast<size_t>(short_widths[stage]);
    if (from == 0) return "-";
    if (to > 0) return duration_text(to - from, lines, width);
    return ">" + duration_text(std::max<int64_t>(now_ns - from, 0), lines, width - 1);
}

// The columns: time, client, op, offset, bytes, the four stages and their total.
constexpr const char* long_form =
    "{:<12} {:<13} {:<12} {:>14} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}";
constexpr const char* short_form = "{:<12} {:<8} {:<6} {:>11} {:>5} {:>5} {:>6} {:>6} {:>6} {:>6}";

std::string clock_text(int64_t realtime_ns) {
    const std::time_t seconds = realtime_ns / ns_per_s;
    return fmt::format("{:%H:%M:%S}.{:03}", fmt::localtime(seconds),
                       realtime_ns % ns_per_s / 1'000'000);
}

SlowRequest request_of(const StrictJson& told, int64_t realtime_ns) {
    SlowRequest slow{.when = "now", .client = told.at("client").get<std::string>(), .request = {}};
    trace::Request& request = slow.request;
    const auto op = trace::op_named(told.at("op").get<std::string>());
    if (!op) refuse_answer("an unknown operation");
    request.op = *op;
    request.error =
        static_cast<uint16_t>(count_at(told, "error", std::numeric_limits<uint16_t>::max()));
    request.offset = count_at(told, "offset");
    request.bytes = count_at(told, "bytes");
    request.received = time_at(told, "received_ns");
    request.queued = time_at(told, "queued_ns");
    request.started = time_at(told, "started_ns");
    request.finished = time_at(told, "finished_ns");
    request.replied = time_at(told, "replied_ns");
    if (request.replied > 0) slow.when = clock_text(request.replied + realtime_ns);
    return slow;
}

}  // namespace

const char* stage_of(const trace::Request& request) {
    const size_t stage = stage_index(request);
    return stage < stage_names.size() ? stage_names[stage] : "ended";
}

std::string slow_header(SlowLines lines) {
    if (lines == SlowLines::long_ones) {
        return fmt::format(long_form, "time", "client", "op", "offset", "bytes", "receive", "wait",
                           "service", "reply", "total") +
               "  stage\n";
    }
    return fmt::format(short_form, "time", "client", "op", "offset", "bytes", "recv", "wait",
                       "serv", "reply", "total") +
           "\n";
}

std::string slow_lines(const std::vector<SlowRequest>& requests, int64_t now_ns, SlowLines lines) {
    std::string text;
    for (const auto& [when, client, request] : requests) {
        const int64_t end = request.replied > 0 ? request.replied : now_ns;
        std::array<std::string, stage_names.size()> stages;
        for (size_t i = 0; i < stages.size(); ++i) {
            stages[i] = stage_text(request, i, now_ns, lines);
        }
        const auto& [receive, wait, service, reply] = stages;
        const std::string total = duration_text(end - request.arrival(), lines, short_total_width);
        if (lines == SlowLines::long_ones) {
            text += fmt::format(long_form, when, client, trace::name_of(request.op), request.offset,
                                request.bytes, receive, wait, service, reply, total);
            text += fmt::format("  {}", stage_of(request));
        } else {
            text += fmt::format(short_form, when, client, short_name_of(request.op), request.offset,
                                model::text_of_bytes(request.bytes), receive, wait, service, reply,
                                total);
        }
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the command has one thread
        if (request.error != 0) text += fmt::format(" ({})", std::strerror(request.error));
        text += '\n';
    }
    return text;
}

SlowLook slow_look_of(const StrictJson& answer) try {
    const auto realtime = time_at(answer, "realtime_ns");
    SlowLook look;
    for (const StrictJson& each : answer.at("slowest")) {
        look.ended.push_back(request_of(each, realtime));
    }
    for (const StrictJson& each : answer.at("under_way")) {
        look.under_way.push_back(request_of(each, realtime));
    }
    look.under_way_count = count_at(answer, "under_way_count");
    look.silent_workers = static_cast<unsigned>(
        count_at(answer, "silent_workers", std::numeric_limits<unsigned>::max()));
    look.now_ns = time_at(answer, "now_ns");
    look.listed_ns = time_at(answer, "listed_ns");
    return look;
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

std::string text_of(const SlowLook& look, SlowLines lines) {
    std::string text = slow_lines(look.under_way, look.now_ns, lines);
    if (look.under_way_count > look.under_way.size()) {
        text += fmt::format("and {} more that are under way\n",
                            look.under_way_count - look.under_way.size());
    }
    text += slow_lines(look.ended, look.now_ns, lines);
    if (look.silent_workers > 0) {
        text += fmt::format(
            "{} of the server's workers did not answer within 100 ms: requests of "
            "their clients that are under way are missing\n",
            look.silent_workers);
    }
    return text;
}

}  // namespace blkscope
