#include "tools/blkscope/trace_collection.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tools/blkscope/server_answer.hpp"
#include "tools/blkscope/trace_part.hpp"
#include "tools/program/signals.hpp"
#include "trace/file.hpp"
#include "trace/model_state.hpp"

namespace blkscope {
namespace {

// The recorder of a busy worker holds a tenth of a second.
constexpr hrtime_t pause_ns = 20'000'000;
constexpr size_t requests_max = size_t{8} << 20;

}  // namespace

TraceCollection::TraceCollection(const std::string& device) : server_(device) {
    request_.command = ControlRequest::Command::trace;
    request_.device = device;
    TraceStart start = trace_start_of(server_.ask(request_));
    heads_ = std::move(start.heads);
    trace_.realtime_ns = start.realtime_ns;
    trace_.properties = std::move(start.properties);
}

void TraceCollection::take_recorded() {
    request_.from.emplace();
    ask();
    trace_.lost = 0;
    take_to_heads();
}

uint64_t TraceCollection::take() {
    if (!request_.from) request_.from = heads_;
    return ask();
}

void TraceCollection::finish() {
    if (!request_.from) request_.from = heads_;
    take_heads();
    take_to_heads();
}

trace::Trace TraceCollection::result() {
    trace::Trace trace = std::exchange(trace_, {});
    trace::sort_by_arrival(trace.requests);
    trace::settle(trace);
    return trace;
}

uint64_t TraceCollection::ask() {
    assert(request_.from.has_value());
    TracePart part = trace_part_of(server_.ask(request_), *request_.from);
    const uint64_t passed = records_between(*request_.from, part.next);
    trace_.lost += part.lost;
    trace_.requests.insert(trace_.requests.end(), part.requests.begin(), part.requests.end());
    request_.from = std::move(part.next);
    if (trace_.requests.size() <= requests_max) return passed;
    throw std::runtime_error("more than 8 Mi requests; ask for a shorter time");
}

void TraceCollection::take_heads() {
    const ControlRequest where{.command = request_.command, .device = request_.device};
    heads_ = heads_of(server_.ask(where));
}

// A server that tells nothing further would be asked for ever.
void TraceCollection::take_to_heads() {
    while (!reaches(*request_.from, heads_)) {
        if (ask() == 0) refuse_answer("its records stand still");
    }
}

void collect_until(std::span<TraceCollection* const> collections, hrtime_t end) {
    program::watch_signals({SIGINT, SIGTERM});
    while (monotonic_ns() < end && program::ending_signal() == 0) {
        uint64_t passed = 0;
        for (TraceCollection* const one : collections) passed += one->take();
        if (passed > 0) continue;
        static_cast<void>(program::sleep_through(std::min(end, monotonic_ns() + pause_ns)));
    }
    for (TraceCollection* const one : collections) one->finish();
}

}  // namespace blkscope
