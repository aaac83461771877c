#include "tools/blkscope/slow_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/clock.hpp"
#include "blockdev/model/grammar.hpp"
#include "tools/blkscope/control_client.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/blkscope/slow_look.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/print.hpp"
#include "tools/program/signals.hpp"

namespace blkscope {
namespace {

// A report shows so many of the slowest requests.
constexpr size_t shown_max = 32;

// Each second, the requests that are under way, and the slow ones that have ended since.
void watch(ServerConnection& server, const ControlRequest& request) {
    program::watch_signals({SIGINT, SIGTERM});
    int64_t seen_ns = 0;
    program::Pace pace(ns_per_s, {});
    do {
        SlowLook look = slow_look_of(server.ask(request));
        std::erase_if(look.ended,
                      [&](const SlowRequest& each) { return each.request.replied <= seen_ns; });
        seen_ns = look.now_ns;
        const std::string text = text_of(look);
        if (!text.empty()) program::print(text);
    } while (pace.wait());
}

}  // namespace

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
    SlowLook look = slow_look_of(server.ask(request));
    if (look.ended.size() > shown_max) look.ended.resize(shown_max);
    const std::string text = text_of(look);
    program::print(text.empty() ? fmt::format("no request of the last minute took {}, and none is "
                                              "under way for so long\n",
                                              command.over)
                                : slow_header() + text);
}

}  // namespace blkscope
