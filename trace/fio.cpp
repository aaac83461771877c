#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "trace/formats.hpp"
#include "trace/kept.hpp"

namespace blkscope::trace {
namespace {

constexpr int64_t ns_per_us = 1'000;
constexpr int64_t ns_per_ms = 1'000'000;
constexpr const char* unnamed = "device";

// fio's names of files are single words. --replay_redirect replaces them anyway.
std::string file_name(const Trace& trace) {
    const auto found = trace.properties.find("device");
    const bool plain = found != trace.properties.end() && !found->second.empty() &&
                       found->second.find_first_of(" \t/:") == std::string::npos;
    return plain ? found->second : unnamed;
}

// The action of a request, or null for one that fio has no action for.
const char* action_of(const Request& request) {
    switch (request.op) {
        case Op::read:
            return "read";
        case Op::write:
        case Op::write_zeroes:
            return "write";
        case Op::flush:
            return "sync";
        case Op::trim:
            return "trim";
        case Op::cache:
        case Op::block_status:
            break;
    }
    return nullptr;
}

int64_t first_arrival(const Trace& trace) {
    return trace.requests.empty() ? 0 : trace.requests.front().arrival();
}

}  // namespace

std::string to_fio2(const Trace& trace) {
    const std::string file = file_name(trace);
    const int64_t begin = first_arrival(trace);
    std::string text = fmt::format("fio version 2 iolog\n{0} add\n{0} open\n", file);
    int64_t waited_ms = 0;
    for (const Request& request : trace.requests) {
        const char* const action = action_of(request);
        if (action == nullptr || !is_kept_by_fio(request)) continue;
        const int64_t ms = (request.arrival() - begin) / ns_per_ms;
        if (ms > waited_ms) fmt::format_to(std::back_inserter(text), "{} wait {} 0\n", file, ms);
        waited_ms = std::max(ms, waited_ms);
        for_each_piece(request, [&](const Request& piece) {
            fmt::format_to(std::back_inserter(text), "{} {} {} {}\n", file, action, piece.offset,
                           piece.bytes);
        });
    }
    return text + file + " close\n";
}

// fio takes a stamp of 0 for none, so the first one is 1.
Result<std::string, Refusal> to_fio3(const Trace& trace) {
    const auto trims = std::count_if(trace.requests.begin(), trace.requests.end(),
                                     [](const Request& each) { return each.op == Op::trim; });
    if (trims > 0) {
        return Refusal{
            fmt::format("the trace has {} trims, which fio before 3.34 drops from its logs; use "
                        "csv, or fio for a "
                        "later one",
                        trims)};
    }
    const std::string file = file_name(trace);
    const int64_t begin = first_arrival(trace);
    std::string text = fmt::format("fio version 3 iolog\n1 {0} add\n1 {0} open\n", file);
    int64_t us = 1;
    for (const Request& request : trace.requests) {
        const char* const action = action_of(request);
        if (action == nullptr || !is_kept_by_fio(request)) continue;
        us = 1 + (request.arrival() - begin) / ns_per_us;
        for_each_piece(request, [&](const Request& piece) {
            fmt::format_to(std::back_inserter(text), "{} {} {} {} {}\n", us, file, action,
                           piece.offset, piece.bytes);
        });
    }
    return text + fmt::format("{} {} close\n", us, file);
}

}  // namespace blkscope::trace
