#include <fmt/format.h>

#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/json_string.hpp"
#include "trace/csv.hpp"
#include "trace/device_name.hpp"
#include "trace/formats.hpp"

namespace blkscope::trace {
namespace {

std::string flags_text(const Request& request, std::string_view between) {
    std::string text;
    for (const auto& [bit, name] :
         {std::pair{flag::fua, "fua"}, std::pair{flag::no_hole, "no_hole"},
          std::pair{flag::fast_zero, "fast_zero"}}) {
        if ((request.flags & bit) == 0) continue;
        if (!text.empty()) text += between;
        text += name;
    }
    return text;
}

// Microseconds with three digits behind the point.
std::string us_text(int64_t ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

struct Stage {
    const char* name;
    int64_t Request::*to;
};
constexpr std::array stages{Stage{"receive", &Request::queued}, Stage{"wait", &Request::started},
                            Stage{"service", &Request::finished},
                            Stage{"reply", &Request::replied}};

void add_event(std::string& text, std::string_view event) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += event;
}

// Without the stamp between two stages, both are drawn as one. A request of which one moment is known
// is an instant.
void add_stages(std::string& text, const Request& request, size_t id) {
    const std::string arguments =
        fmt::format(R"(,"args":{{"op":"{}","offset":{},"bytes":{},"error":{}}})",
                    name_of(request.op), request.offset, request.bytes, request.error);
    const auto add = [&](char phase, std::string_view name, int64_t at, std::string_view more) {
        add_event(text,
                  fmt::format(R"({{"ph":"{}","id":{},"cat":"io","name":"{}","ts":{},)"
                              R"("pid":{},"tid":{}{}}})",
                              phase, id, name, us_text(at), request.device, request.client, more));
    };
    int64_t from = request.received;
    std::string name;
    bool is_instant = true;
    for (const Stage& stage : stages) {
        if (from > 0) name += (name.empty() ? "" : "+") + std::string(stage.name);
        const int64_t to = request.*stage.to;
        if (to == 0) continue;
        if (from > 0) {
            add('b', name, from, arguments);
            add('e', name, to, "");
            is_instant = false;
        }
        name.clear();
        from = to;
    }
    if (is_instant) add('n', "arrival", request.arrival(), arguments);
}

}  // namespace

std::string to_perfetto(const Trace& trace) {
    std::string text = "[";
    std::set<uint32_t> devices;
    std::set<std::pair<uint32_t, uint32_t>> clients;
    for (const Request& request : trace.requests) {
        if (devices.insert(request.device).second) {
            add_event(text,
                      fmt::format(R"({{"ph":"M","name":"process_name","pid":{},)"
                                  R"("args":{{"name":{}}}}})",
                                  request.device, json_string(device_name(trace, request.device))));
        }
        if (clients.emplace(request.device, request.client).second) {
            add_event(text, fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},)"
                                        R"("args":{{"name":"{}"}}}})",
                                        request.device, request.client, client_text(request)));
        }
    }
    size_t id = 0;
    for (const Request& request : trace.requests) add_stages(text, request, ++id);
    return text + "\n]\n";
}

std::string to_csv(const Trace& trace) {
    std::string text =
        "device,worker,client,op,flags,error,offset,bytes,depth,received_ns,queued_ns,started_ns,"
        "finished_ns,replied_ns,drawn_ns,cookie,upstream_cookie,facts\n";
    std::string facts = csv_field(facts_text(trace));
    for (const Request& each : trace.requests) {
        fmt::format_to(
            std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
            csv_field(device_name(trace, each.device)), each.worker, client_text(each),
            name_of(each.op), flags_text(each, "|"), each.error, each.offset, each.bytes,
            each.depth, each.received, each.queued, each.started, each.finished, each.replied,
            each.drawn_ns, each.cookie, each.upstream_cookie, std::exchange(facts, ""));
    }
    return text;
}

std::string to_json(const Trace& trace) {
    std::string text =
        fmt::format(R"({{"schema":"blkscope.trace/1","requests":{},"lost":{},"realtime_ns":{})",
                    trace.requests.size(), trace.lost, trace.realtime_ns);
    for (const auto& [key, value] : trace.properties) {
        text += "," + json_string(key) + ":" + json_string(value);
    }
    text += "}\n";
    for (const Request& each : trace.requests) {
        const std::string flags = flags_text(each, R"(",")");
        fmt::format_to(
            std::back_inserter(text),
            R"({{"device":{},"worker":{},"client":"{}","op":"{}","flags":[{}],"error":{},)"
            R"("offset":{},"bytes":{},"depth":{},"received_ns":{},"queued_ns":{},"started_ns":{},)"
            R"("finished_ns":{},"replied_ns":{},"drawn_ns":{},"cookie":"{}","upstream_cookie":"{}"}})"
            "\n",
            json_string(device_name(trace, each.device)), each.worker, client_text(each),
            name_of(each.op), flags.empty() ? "" : "\"" + flags + "\"", each.error, each.offset,
            each.bytes, each.depth, each.received, each.queued, each.started, each.finished,
            each.replied, each.drawn_ns, each.cookie, each.upstream_cookie);
    }
    return text;
}

}  // namespace blkscope::trace
