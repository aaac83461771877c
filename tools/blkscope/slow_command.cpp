#include "tools/blkscope/slow_command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/stage_line.hpp"
#include "tools/program/print.hpp"
#include "tools/program/signals.hpp"

namespace blkscope {
namespace {

// A report shows so many of the slowest requests.
constexpr size_t shown_max = 32;

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

// The stage's length, with a '>' while it lasts, and "-" before it has begun.
std::string stage_text(const trace::Request& request, size_t stage, int64_t now_ns) {
    const int64_t from = request.*stamps[stage];
    const int64_t to = request.*stamps[stage + 1];
    if (from == 0) return "-";
    if (to == 0) return ">" + ms_text(std::max<int64_t>(now_ns - from, 0));
    return ms_text(to - from);
}

std::string clock_text(int64_t realtime_ns) {
    const std::time_t seconds = realtime_ns / ns_per_s;
    return fmt::format("{:%H:%M:%S}.{:03}", fmt::localtime(seconds),
                       realtime_ns % ns_per_s / 1'000'000);
}

trace::Op op_of_name(const std::string& name) {
    for (uint8_t i = 0; i <= static_cast<uint8_t>(trace::last_op); ++i) {
        if (name == trace::name_of(static_cast<trace::Op>(i))) return static_cast<trace::Op>(i);
    }
    throw std::runtime_error("the server's answer: an unknown operation");
}

SlowRequest request_of(const StrictJson& told, int64_t realtime_ns) {
    SlowRequest slow{.when = "now", .client = told.at("client").get<std::string>(), .request = {}};
    trace::Request& request = slow.request;
    request.op = op_of_name(told.at("op").get<std::string>());
    request.error = told.at("error").get<uint16_t>();
    request.offset = told.at("offset").get<uint64_t>();
    request.bytes = told.at("bytes").get<uint64_t>();
    request.received = told.at("received_ns").get<int64_t>();
    request.queued = told.at("queued_ns").get<int64_t>();
    request.started = told.at("started_ns").get<int64_t>();
    request.finished = told.at("finished_ns").get<int64_t>();
    request.replied = told.at("replied_ns").get<int64_t>();
    if (request.replied > 0) slow.when = clock_text(request.replied + realtime_ns);
    return slow;
}

struct Look {
    std::vector<SlowRequest> ended;
    std::vector<SlowRequest> under_way;
    uint64_t under_way_count = 0;
    unsigned silent_workers = 0;
    int64_t now_ns = 0;
};

Look look_at(ServerConnection& server, const ControlRequest& request) try {
    const StrictJson answer = server.ask(request);
    const auto realtime = answer.at("realtime_ns").get<int64_t>();
    Look look;
    for (const StrictJson& each : answer.at("slowest")) {
        look.ended.push_back(request_of(each, realtime));
    }
    for (const StrictJson& each : answer.at("under_way")) {
        look.under_way.push_back(request_of(each, realtime));
    }
    look.under_way_count = answer.at("under_way_count").get<uint64_t>();
    look.silent_workers = answer.at("silent_workers").get<unsigned>();
    look.now_ns = answer.at("now_ns").get<int64_t>();
    return look;
} catch (const StrictJson::exception& error) {
    throw std::runtime_error(std::string("the server's answer: ") + error.what());
}

std::string text_of_look(const Look& look) {
    std::string text = slow_lines(look.under_way, look.now_ns);
    if (look.under_way_count > look.under_way.size()) {
        text += fmt::format("and {} more that are under way\n",
                            look.under_way_count - look.under_way.size());
    }
    text += slow_lines(look.ended, look.now_ns);
    if (look.silent_workers > 0) {
        text += fmt::format(
            "{} of the server's workers did not answer within 100 ms: requests of "
            "their clients that are under way are missing\n",
            look.silent_workers);
    }
    return text;
}

// Each second, the requests that are under way, and the slow ones that have ended since.
void watch(ServerConnection& server, const ControlRequest& request) {
    program::watch_signals({SIGINT, SIGTERM});
    int64_t seen_ns = 0;
    hrtime_t wake = monotonic_ns();
    do {
        Look look = look_at(server, request);
        std::erase_if(look.ended,
                      [&](const SlowRequest& each) { return each.request.replied <= seen_ns; });
        seen_ns = look.now_ns;
        const std::string text = text_of_look(look);
        if (!text.empty()) program::print(text);
        wake += ns_per_s;
    } while (program::sleep_until(wake) && program::ending_signal() == 0);
}

}  // namespace

const char* stage_of(const trace::Request& request) {
    const size_t stage = stage_index(request);
    return stage < stage_names.size() ? stage_names[stage] : "ended";
}

std::string slow_header() {
    return fmt::format("{:<12} {:<13} {:<12} {:>14} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n",
                       "time", "client", "op", "offset", "bytes", "receive", "wait", "service",
                       "reply", "total", "stage");
}

std::string slow_lines(const std::vector<SlowRequest>& requests, int64_t now_ns) {
    std::string text;
    for (const auto& [when, client, request] : requests) {
        const int64_t end = request.replied > 0 ? request.replied : now_ns;
        text +=
            fmt::format("{:<12} {:<13} {:<12} {:>14} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}  {}",
                        when, client, trace::name_of(request.op), request.offset, request.bytes,
                        stage_text(request, 0, now_ns), stage_text(request, 1, now_ns),
                        stage_text(request, 2, now_ns), stage_text(request, 3, now_ns),
                        ms_text(end - request.arrival()), stage_of(request));
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the command has one thread
        if (request.error != 0) text += fmt::format(" ({})", std::strerror(request.error));
        text += '\n';
    }
    return text;
}

void slow(const SlowCommand& command) {
    ControlRequest request;
    request.command = ControlRequest::Command::slow;
    request.device = command.device;
    request.over_ns = static_cast<uint64_t>(model::parse_time(command.over).ns());
    ServerConnection server(command.device);
    if (command.watch) {
        program::print(slow_header());
        return watch(server, request);
    }
    Look look = look_at(server, request);
    if (look.ended.size() > shown_max) look.ended.resize(shown_max);
    const std::string text = text_of_look(look);
    program::print(text.empty() ? fmt::format("no request of the last minute took {}, and none is "
                                              "under way for so long\n",
                                              command.over)
                                : slow_header() + text);
}

}  // namespace blkscope
