#include "tools/blkscope/trace_collection.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tools/blkscope/hex.hpp"
#include "tools/program/signals.hpp"
#include "trace/file.hpp"
#include "trace/model_state.hpp"
#include "trace/record.hpp"

namespace blkscope {
namespace {

// The recorder of a busy worker holds a tenth of a second.
constexpr hrtime_t pause_ns = 20'000'000;
constexpr size_t requests_max = size_t{8} << 20;

[[noreturn]] void refuse_answer(const std::string& why) {
    throw std::runtime_error("the server's answer: " + why);
}

}  // namespace

TraceCollection::TraceCollection(const std::string& device) try : server_(device) {
    request_.command = ControlRequest::Command::trace;
    request_.device = device;
    const StrictJson answer = server_.ask(request_);
    heads_ = answer.at("next").get<std::vector<uint64_t>>();
    trace_.realtime_ns = answer.at("realtime_ns").get<int64_t>();
    trace_.properties = answer.at("properties").get<std::map<std::string, std::string>>();
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

void TraceCollection::take_recorded() {
    request_.from.emplace();
    ask();
    trace_.lost = 0;
    while (!reaches_heads()) ask();
}

uint64_t TraceCollection::take() {
    if (!request_.from) request_.from = heads_;
    return ask();
}

void TraceCollection::finish() {
    if (!request_.from) request_.from = heads_;
    take_heads();
    while (!reaches_heads()) ask();
}

trace::Trace TraceCollection::result() {
    trace::Trace trace = std::exchange(trace_, {});
    trace::sort_by_arrival(trace.requests);
    trace::settle(trace);
    return trace;
}

uint64_t TraceCollection::ask() try {
    assert(request_.from.has_value());
    const StrictJson answer = server_.ask(request_);
    auto next = answer.at("next").get<std::vector<uint64_t>>();
    uint64_t passed = 0;
    for (size_t i = 0; i < next.size(); ++i) {
        passed += next[i] - (i < request_.from->size() ? (*request_.from)[i] : 0);
    }
    trace_.lost += answer.at("lost").get<uint64_t>();
    add(answer.at("records").get<std::string>());
    request_.from = std::move(next);
    if (trace_.requests.size() <= requests_max) return passed;
    throw std::runtime_error("more than 8 Mi requests; ask for a shorter time");
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

void TraceCollection::add(const std::string& hex) {
    const auto bytes = bytes_of_hex(hex);
    if (!bytes || bytes->size() % trace::record_bytes != 0) refuse_answer("no records");
    for (size_t at = 0; at < bytes->size(); at += trace::record_bytes) {
        const std::span<const std::byte> record(bytes->data() + at, trace::record_bytes);
        auto request = trace::decode(record.first<trace::record_bytes>());
        if (!request) refuse_answer(request.error());
        trace_.requests.push_back(*request);
    }
}

void TraceCollection::take_heads() try {
    const ControlRequest where{.command = request_.command, .device = request_.device};
    heads_ = server_.ask(where).at("next").get<std::vector<uint64_t>>();
} catch (const StrictJson::exception& error) {
    refuse_answer(error.what());
}

bool TraceCollection::reaches_heads() const {
    const std::vector<uint64_t>& from = *request_.from;
    for (size_t i = 0; i < heads_.size(); ++i) {
        if (i >= from.size() || from[i] < heads_[i]) return false;
    }
    return true;
}

void collect_until(std::span<TraceCollection* const> collections, hrtime_t end) {
    program::watch_signals({SIGINT, SIGTERM});
    while (monotonic_ns() < end && program::ending_signal() == 0) {
        uint64_t passed = 0;
        for (TraceCollection* const one : collections) passed += one->take();
        if (passed > 0) continue;
        static_cast<void>(program::sleep_until(std::min(end, monotonic_ns() + pause_ns)));
    }
    for (TraceCollection* const one : collections) one->finish();
}

}  // namespace blkscope
