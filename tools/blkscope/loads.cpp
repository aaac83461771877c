#include "tools/blkscope/loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "blockdev/model/draws.hpp"
#include "blockdev/model/grammar.hpp"
#include "blockdev/model/model_spec.hpp"

namespace blkscope {
namespace {

constexpr uint64_t load_stream = 1000;  // no operation has this number
constexpr double rate_max = 1e9;        // a request a nanosecond
constexpr uint64_t weight_max = 1'000'000;
constexpr hrtime_t trace_ns_max = hrtime_t{100} * 86'400 * ns_per_s;

size_t op_of_mix(std::string_view name) {
    for (size_t op = 0; op < Buf::op_count; ++op) {
        if (model::name_of(static_cast<Buf::Op>(op)) == name) return op;
    }
    throw std::invalid_argument(fmt::format("there is no operation '{}'", name));
}

hrtime_t moment_in_device(const trace::Request& request) {
    return request.queued > 0 ? request.queued : request.arrival();
}

void refuse_request(size_t number, const trace::Request& request, const std::string& why) {
    throw std::invalid_argument(fmt::format("request {}: a {} of {} bytes at {} {}", number + 1,
                                            trace::name_of(request.op), request.bytes,
                                            request.offset, why));
}

void check_request(size_t number, const trace::Request& request, uint64_t size_bytes) {
    if (request.op == trace::Op::flush) return;
    const bool transfers = request.op == trace::Op::read || request.op == trace::Op::write;
    if (transfers && request.bytes > std::numeric_limits<int32_t>::max()) {
        refuse_request(number, request, "is longer than a device takes");
    }
    if (request.offset > size_bytes || request.bytes > size_bytes - request.offset) {
        refuse_request(number, request,
                       fmt::format("is beyond a device of {} bytes; see --size", size_bytes));
    }
}

}  // namespace

void take_arrivals(std::string_view text, LoadSpec& load) {
    model::in_context("arrivals", text, [&] {
        const model::Head head = model::head_of(text, ':');
        load.poisson = head.part == "poisson";
        if (!load.poisson && head.part != "even") {
            throw std::invalid_argument("expected poisson:RATE or even:RATE");
        }
        load.per_second = model::parse_positive(head.rest, "RATE");
        if (load.per_second > rate_max) throw std::invalid_argument("RATE is more than 1000000000");
        return 0;
    });
}

void take_mix(std::string_view text, LoadSpec& load) {
    model::in_context("mix", text, [&] {
        load.weights = {};
        for (const std::string_view item : model::split(text, ',')) {
            const model::Head head = model::head_of(item, '=');
            uint64_t& weight = load.weights[op_of_mix(head.part)];
            weight = model::parse_count(head.rest, "WEIGHT", 1);
            if (weight > weight_max) throw std::invalid_argument("WEIGHT is more than 1000000");
        }
        return 0;
    });
}

DrawnLoad::DrawnLoad(const LoadSpec& spec)
    : spec_(spec),
      weight_sum_(std::accumulate(spec.weights.begin(), spec.weights.end(), uint64_t{0})),
      places_(spec.size_bytes / spec.request_bytes) {
    assert(weight_sum_ > 0);
    if (places_ == 0) throw std::invalid_argument("a request is larger than the device");
}

bool DrawnLoad::next(virtual_time::Asked& asked) {
    model::Draws draws(spec_.seed, load_stream, number_++);
    if (spec_.per_second > 0) {
        const double gaps = spec_.poisson ? -std::log(draws.share()) : 1;
        at_ns_ += gaps * 1e9 / spec_.per_second;
        if (spec_.duration && at_ns_ > static_cast<double>(*spec_.duration)) return false;
        asked.at = std::llround(at_ns_);
    }
    uint64_t left = draws.below(weight_sum_);
    size_t op = 0;
    while (left >= spec_.weights[op]) left -= spec_.weights[op++];
    const uint64_t place = spec_.sequential ? place_++ % places_ : draws.below(places_);
    asked.op = static_cast<trace::Op>(op);
    asked.offset = place * spec_.request_bytes;
    asked.bytes = spec_.request_bytes;
    asked.flags = 0;
    return true;
}

bool TracedLoad::next(virtual_time::Asked& asked) {
    if (next_ == requests_.size()) return false;
    const trace::Request& request = requests_[next_++];
    asked.at = moment_in_device(request) - moment_in_device(requests_.front());
    asked.offset = request.offset;
    asked.bytes = request.bytes;
    asked.op = request.op;
    asked.flags = request.flags;
    return true;
}

std::vector<trace::Request> in_order_of_the_device(const trace::Trace& trace, uint64_t size_bytes,
                                                   std::optional<hrtime_t> duration) {
    std::vector<trace::Request> requests;
    requests.reserve(trace.requests.size());
    for (size_t i = 0; i < trace.requests.size(); ++i) {
        check_request(i, trace.requests[i], size_bytes);
        if (moment_in_device(trace.requests[i]) > 0) requests.push_back(trace.requests[i]);
    }
    std::ranges::stable_sort(requests, {}, moment_in_device);
    if (requests.empty()) throw std::invalid_argument("there are no requests");
    const hrtime_t first = moment_in_device(requests.front());
    const auto is_late = [&](const trace::Request& each) {
        return moment_in_device(each) - first > duration.value_or(trace_ns_max);
    };
    const auto end = std::find_if(requests.begin(), requests.end(), is_late);
    if (end != requests.end() && !duration) {
        throw std::invalid_argument("the requests are of more than a hundred days");
    }
    requests.erase(end, requests.end());
    return requests;
}

InFlight in_flight(const std::vector<trace::Request>& requests) {
    std::vector<std::pair<hrtime_t, int>> changes;  // an end before an arrival at the same moment
    for (const trace::Request& each : requests) {
        if (!each.has_total() || each.end() <= each.arrival()) continue;
        changes.emplace_back(each.arrival(), 1);
        changes.emplace_back(each.end(), -1);
    }
    std::sort(changes.begin(), changes.end());
    std::vector<hrtime_t> times(1);  // by the number in flight
    size_t now = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
        if (i > 0) times[now] += changes[i].first - changes[i - 1].first;
        now = changes[i].second > 0 ? now + 1 : now - 1;
        if (now == times.size()) times.push_back(0);
    }
    const hrtime_t all = std::accumulate(times.begin(), times.end(), hrtime_t{0});
    if (all == 0) return {};
    return {.most = times.size() - 1,
            .share = static_cast<double>(times.back()) / static_cast<double>(all)};
}

}  // namespace blkscope
