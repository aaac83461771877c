#include "tools/blkscope/trace_answer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/device/device.hpp"
#include "tools/blkscope/hex.hpp"
#include "trace/model_state.hpp"
#include "trace/record.hpp"

namespace blkscope {
namespace {

using program::Json;

// An answer has a MiB at most, and each record 208 digits.
constexpr size_t records_max = 4096;
// Requests in an answer about slow ones.
constexpr size_t slow_max = 100;
constexpr std::chrono::milliseconds worker_patience{100};

int64_t realtime_offset_ns() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - now_ns();
}

std::string hex_records(const std::vector<trace::Request>& requests) {
    std::string text;
    text.reserve(requests.size() * trace::record_bytes * 2);
    std::array<std::byte, trace::record_bytes> record{};
    for (const trace::Request& request : requests) {
        trace::encode(request, record);
        text += hex_of(record);
    }
    return text;
}

Json properties_of(const Device& device) {
    const Behaviour behaviour = device.behaviour();
    trace::Properties state;
    trace::put_state(device.model_state(), state);
    Json properties = Json::object();
    properties.add("device", device.name());
    properties.add("size_bytes", std::to_string(device.size_bytes()));
    properties.add("queue_depth", std::to_string(device.queue_depth()));
    for (const auto& [key, value] : state) properties.add(key, value);
    if (behaviour.model) properties.add("model", behaviour.model->text());
    if (behaviour.limits) properties.add("limit", behaviour.limits->text());
    if (behaviour.client_limits) properties.add("client-limit", behaviour.client_limits->text());
    return properties;
}

Json object_of(const trace::Request& request) {
    return {{"op", trace::name_of(request.op)}, {"client", trace::client_text(request)},
            {"worker", request.worker},         {"error", request.error},
            {"offset", request.offset},         {"bytes", request.bytes},
            {"received_ns", request.received},  {"queued_ns", request.queued},
            {"started_ns", request.started},    {"finished_ns", request.finished},
            {"replied_ns", request.replied}};
}

Json objects_of(const std::vector<trace::Request>& requests) {
    Json objects = Json::array();
    for (size_t i = 0; i < std::min(requests.size(), slow_max); ++i) {
        objects.push_back(object_of(requests[i]));
    }
    return objects;
}

}  // namespace

Json answer_trace(nbd::Server& server, size_t index, const ControlRequest& request) {
    const nbd::Recordings recordings = server.recordings(index);
    if (!request.from) {
        return {{"ok", true},
                {"next", recordings.heads()},
                {"realtime_ns", realtime_offset_ns()},
                {"properties", properties_of(server.device(index))}};
    }
    const nbd::Recorded recorded = recordings.recorded(*request.from, records_max);
    return {{"ok", true},
            {"next", recorded.next},
            {"lost", recorded.lost},
            {"records", hex_records(recorded.requests)}};
}

Json answer_slow(nbd::Server& server, size_t index, const ControlRequest& request) {
    const auto over_ns = static_cast<hrtime_t>(request.over_ns.value_or(0));
    const uint64_t since_ns = request.since_ns.value_or(0);
    const hrtime_t listed = now_ns();
    std::vector<trace::Request> slowest = server.device(index).slowest(over_ns);
    std::erase_if(slowest, [&](const trace::Request& each) {
        return static_cast<uint64_t>(each.replied) <= since_ns;
    });
    nbd::UnderWay under_way = server.recordings(index).under_way(worker_patience);
    const hrtime_t now = now_ns();
    std::erase_if(under_way.requests,
                  [&](const trace::Request& each) { return now - each.arrival() < over_ns; });
    return {{"ok", true},
            {"now_ns", now},
            {"listed_ns", listed},
            {"realtime_ns", realtime_offset_ns()},
            {"slowest", objects_of(slowest)},
            {"under_way", objects_of(under_way.requests)},
            {"under_way_count", under_way.requests.size()},
            {"silent_workers", under_way.silent_workers}};
}

}  // namespace blkscope
