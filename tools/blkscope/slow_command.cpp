#include "tools/blkscope/slow_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/slow_look.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/print.hpp"
#include "tools/program/signals.hpp"
#include "trace/request.hpp"

namespace blkscope {
namespace {

// A report shows so many of the slowest requests.
constexpr size_t shown_max = 32;

// A request comes to the server's list a moment after its reply. So each look goes back behind the last one.
constexpr int64_t overlap_ns = ns_per_s;

std::vector<trace::Request> requests_of(const std::vector<SlowRequest>& slow) {
    std::vector<trace::Request> requests;
    requests.reserve(slow.size());
    for (const SlowRequest& each : slow) requests.push_back(each.request);
    return requests;
}

// Each second, the requests that are under way, and the slow ones that have ended since.
void watch(ServerConnection& server, ControlRequest request, SlowLines lines) {
    program::watch_signals({SIGINT, SIGTERM});
    std::vector<trace::Request> shown;
    program::Pace pace(ns_per_s, {});
    do {
        SlowLook look = slow_look_of(server.ask(request));
        request.since_ns = static_cast<uint64_t>(std::max<int64_t>(look.listed_ns - overlap_ns, 0));
        const std::vector<trace::Request> shown_before =
            std::exchange(shown, requests_of(look.ended));
        std::erase_if(look.ended, [&](const SlowRequest& each) {
            return std::ranges::find(shown_before, each.request) != shown_before.end();
        });
        const std::string text = text_of(look, lines);
        if (!text.empty()) program::print(text);
    } while (pace.wait());
}

}  // namespace

void slow(const SlowCommand& command) {
    ControlRequest request;
    request.command = ControlRequest::Command::slow;
    request.device = device_or_only_one(command.device, "slow");
    request.over_ns = static_cast<uint64_t>(model::parse_time(command.over).ns());
    ServerConnection server(request.device);
    const SlowLines lines = command.wide ? SlowLines::long_ones : SlowLines::short_ones;
    if (command.watch) {
        program::print(slow_header(lines));
        return watch(server, request, lines);
    }
    SlowLook look = slow_look_of(server.ask(request));
    if (look.ended.size() > shown_max) look.ended.resize(shown_max);
    const std::string text = text_of(look, lines);
    program::print(text.empty() ? fmt::format("no request of the last minute took {}, and none is "
                                              "under way for so long\n",
                                              command.over)
                                : slow_header(lines) + text);
}

}  // namespace blkscope
