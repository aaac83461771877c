#include "trace/join.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <tuple>

namespace blkscope::trace {
namespace {

// Stamps of a foreign trace may be anything, so sums of them are no integers. At the times of today
// a double is exact to less than a microsecond.
using Time = double;

constexpr auto tolerance = static_cast<Time>(join_tolerance_ns);

// The stamps of a trace on the clock that both traces have.
class Clock {
  public:
    // A trace of another program has no offset, and then both are taken as they are.
    Clock(const Trace& trace, const Trace& other)
        : offset_(trace.realtime_ns != 0 && other.realtime_ns != 0
                      ? static_cast<Time>(trace.realtime_ns)
                      : 0) {}
    [[nodiscard]] Time at(int64_t stamp) const { return static_cast<Time>(stamp) + offset_; }

  private:
    Time offset_;
};

struct Span {
    Time begin = 0;
    Time end = 0;
};

// From the first arrival to the last known moment of a request.
std::optional<Span> span_of(const Trace& trace, const Clock& clock) {
    if (trace.requests.empty()) return {};
    int64_t begin = trace.requests.front().arrival();
    int64_t end = 0;
    for (const Request& request : trace.requests) {
        begin = std::min(begin, request.arrival());
        end = std::max(end, request.end());
    }
    return Span{clock.at(begin), clock.at(end)};
}

// The fields that are equal in both records of a request. A flush has no place.
auto key_of(uint64_t cookie, const Request& request) {
    const bool has_place = request.op != Op::flush;
    return std::tuple(cookie, request.op, has_place ? request.offset : uint64_t{0},
                      has_place ? request.bytes : uint64_t{0});
}

class Joiner {
  public:
    Joiner(const Trace& first, const Trace& second)
        : first_(first),
          second_(second),
          first_clock_(first, second),
          second_clock_(second, first),
          span_(span_of(second, second_clock_)),
          claims_(second.requests.size()) {
        for (size_t i = 0; i < second.requests.size(); ++i) {
            const Request& request = second.requests[i];
            if (request.received > 0 && request.has_service()) by_key_.push_back(i);
        }
        std::ranges::sort(by_key_, {}, [&](size_t i) {
            const Request& request = second.requests[i];
            return std::tuple(key_of(request.cookie, request), request.received);
        });
    }

    Join take() {
        for (size_t i = 0; i < first_.requests.size(); ++i) look_for(i);
        // A request of the second server that fits several of the first belongs to none of them.
        std::erase_if(join_.pairs, [&](const JoinedPair& pair) {
            const bool fits_several = claims_[pair.second] > 1;
            if (fits_several) ++join_.ambiguous;
            return fits_several;
        });
        return std::move(join_);
    }

  private:
    void look_for(size_t index) {
        const Request& request = first_.requests[index];
        if (!request.has_stages()) {
            ++join_.outside;
        } else if (request.upstream_cookie == 0) {
            ++join_.without_cookie;
        } else {
            const auto found = fitting(request);
            if (found.empty()) {
                ++(is_outside(request) ? join_.outside : join_.missing);
            } else if (found.size() > 1) {
                ++join_.ambiguous;
                for (const size_t second : found) claims_[second] = 2;
            } else {
                join_.pairs.push_back({index, found.front()});
                claims_[found.front()] = std::min(claims_[found.front()] + 1, 2);
            }
        }
    }

    // Two requests of the second server are several, so the search ends with them.
    [[nodiscard]] std::vector<size_t> fitting(const Request& request) const {
        const auto key = key_of(request.upstream_cookie, request);
        const Time from = first_clock_.at(request.started) - tolerance;
        const Time to = first_clock_.at(request.finished) + tolerance;
        const auto place = [&](size_t i) {
            const Request& other = second_.requests[i];
            return std::tuple(key_of(other.cookie, other), second_clock_.at(other.received));
        };
        auto at = std::ranges::lower_bound(by_key_, std::tuple(key, from), {}, place);
        std::vector<size_t> found;
        for (; at != by_key_.end() && found.size() < 2 && place(*at) <= std::tuple(key, to); ++at) {
            found.push_back(*at);
        }
        return found;
    }

    [[nodiscard]] bool is_outside(const Request& request) const {
        return !span_ || first_clock_.at(request.started) < span_->begin ||
               first_clock_.at(request.finished) > span_->end;
    }

    const Trace& first_;
    const Trace& second_;
    const Clock first_clock_;
    const Clock second_clock_;
    const std::optional<Span> span_;
    std::vector<size_t> by_key_;  // requests of the second trace, equal ones by their arrival
    std::vector<int> claims_;     // how many requests of the first trace fit each: 0, 1, or more
    Join join_;
};

StageSums sums_within(const Trace& trace, const Clock& clock, const Span& span) {
    StageSums sums;
    for (const Request& request : trace.requests) {
        if (!request.transfers() || !request.has_stages()) continue;
        const bool within = clock.at(request.arrival()) >= span.begin - tolerance &&
                            clock.at(request.finished) <= span.end + tolerance;
        if (within) sums.add(request);
    }
    return sums;
}

}  // namespace

Join join(const Trace& first, const Trace& second) {
    return Joiner(first, second).take();
}

void StageSums::add(const Request& request) {
    assert(request.has_stages());
    wait_ns += static_cast<double>(request.started) - static_cast<double>(request.entered());
    service_ns += static_cast<double>(request.finished) - static_cast<double>(request.started);
    bytes += static_cast<double>(request.bytes);
    ++count;
}

CommonSums common_sums(const Trace& first, const Trace& second) {
    const Clock first_clock(first, second);
    const Clock second_clock(second, first);
    const auto one = span_of(first, first_clock);
    const auto other = span_of(second, second_clock);
    if (!one || !other) return {};
    const Span both{std::max(one->begin, other->begin), std::min(one->end, other->end)};
    return {.first = sums_within(first, first_clock, both),
            .second = sums_within(second, second_clock, both)};
}

}  // namespace blkscope::trace
