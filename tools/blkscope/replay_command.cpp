#include "tools/blkscope/replay_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <utility>
#include <vector>

#include "driver/nbd/client/connect.hpp"
#include "tools/blkscope/replay_plan.hpp"
#include "tools/blkscope/replay_report.hpp"
#include "tools/blkscope/replay_run.hpp"
#include "tools/blkscope/trace_file.hpp"
#include "tools/program/print.hpp"
#include "tools/program/signals.hpp"

namespace blkscope {
namespace {

constexpr double longest_replay_ns = 30.0 * 24 * 3600 * ns_per_s;

void check_trace(const ReplayCommand& command, const std::vector<trace::Request>& requests) {
    if (requests.empty()) throw std::runtime_error(command.trace + ": a trace without requests");
    const std::string changes = changes_of(requests);
    if (!changes.empty() && !command.write) {
        throw std::invalid_argument(
            fmt::format("replay: the trace has {}, which change the data of the export; nothing "
                        "was sent; give --write if that data may be lost",
                        changes));
    }
    const auto span = requests.back().arrival() - requests.front().arrival();
    if (command.in_flight == 0 && static_cast<double>(span) / command.speed > longest_replay_ns) {
        throw std::runtime_error("replay: the trace lasts for more than 30 days; give a --speed");
    }
}

}  // namespace

void replay(const ReplayCommand& command) {
    const nbd::Uri uri = nbd::parse_uri(command.uri);
    const trace::Trace trace = read_trace_file(command.trace, command.of_device);
    show_notes(trace, "replay");
    check_trace(command, trace.requests);
    const auto asks_status = [](const trace::Request& each) {
        return each.op == trace::Op::block_status;
    };
    const bool allocation = std::ranges::any_of(trace.requests, asks_status);
    nbd::RemoteConnection connection = nbd::connect_to_export(
        uri, {.export_name = {}, .replies_max = nbd::ReplyForm::extended, .allocation = allocation},
        std::chrono::seconds(command.timeout_s));
    const std::string why = why_not(trace.requests, connection.remote);
    if (!why.empty()) {
        throw std::runtime_error(fmt::format("replay: {}: {}; nothing was sent", uri.text(), why));
    }
    program::watch_signals({SIGINT, SIGTERM});
    const ReplayPace pace{.speed = command.speed,
                          .in_flight = command.in_flight,
                          .patience_ns = command.timeout_s * ns_per_s,
                          .seed = command.seed};
    std::vector<Replayed> outcome;
    try {
        outcome = ReplayRun(trace.requests, std::move(connection), pace).run();
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(fmt::format("replay: {}: {}", uri.text(), error.what()));
    }
    program::print(replay_report(trace.requests, outcome, pace));
}

}  // namespace blkscope
