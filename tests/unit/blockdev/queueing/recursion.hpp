// The recursions that say when each request starts and ends, from its arrival and its service time.
//
//     arrivals, services ─▶ recursion() ─▶ Moments ─▶ integrals_of() ─▶ wlentime, wtime, ...
//
// The integrals come from sums and unions of the requests' stays. No queue is counted up and down,
// as the accounting does. A device whose accounting is right has the same integrals to the tick.
// The recursion for one server is Lindley's. The recursion for several is that of Kiefer and
// Wolfowitz.
//
// Units:     nanoseconds.
// Ownership: values.
// Threads:   any.
// Errors:    none.
// Source:    Lindley: The theory of queues with a single server, 1952.
// Source:    Kiefer and Wolfowitz: On the theory of queues with many servers, 1955.
#pragma once

#include <sys/kstat.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "blockdev/model/distribution.hpp"

namespace blkscope::queueing {

struct Moments {
    hrtime_t arrived = 0;
    hrtime_t started = 0;
    hrtime_t ended = 0;
};

/// The integrals of kstat_io.
struct Integrals {
    hrtime_t wlentime = 0;
    hrtime_t wtime = 0;
    hrtime_t rlentime = 0;
    hrtime_t rtime = 0;

    friend bool operator==(const Integrals&, const Integrals&) = default;
};

Integrals integrals_of(const std::vector<Moments>& all);
inline Integrals integrals_of(const kstat_io_t& io) {
    return {io.wlentime, io.wtime, io.rlentime, io.rtime};
}

/// When a request starts that arrives at `arrival`: when fewer than `depth` are in the device.
class Depth {
  public:
    explicit Depth(uint32_t depth) : depth_(depth) {}

    hrtime_t start(hrtime_t arrival) {
        last_ = std::max(last_, arrival);
        ends_.erase(ends_.begin(), ends_.upper_bound(last_));
        if (ends_.size() < depth_) return last_;
        last_ = *ends_.begin();
        ends_.erase(ends_.begin(), ends_.upper_bound(last_));
        return last_;
    }
    void end_at(hrtime_t end) { ends_.insert(end); }

  private:
    uint32_t depth_;
    hrtime_t last_ = 0;
    std::multiset<hrtime_t> ends_;
};

/// A request begins when the first server is free, in the order of arrival.
std::vector<Moments> recursion(const std::vector<hrtime_t>& arrivals,
                               const std::vector<hrtime_t>& services, uint32_t servers,
                               uint32_t depth);

/// The times that a model with this seed draws for its first reads.
std::vector<hrtime_t> services_of(const model::Distribution& distribution, uint64_t seed,
                                  uint64_t count);

/// The integrals of a device in virtual time, and of the recursion for it.
struct Compared {
    std::string name;
    Integrals seen;
    Integrals expected;
};

/// 1 to 16 servers at loads of 0.2 to 0.95, with as much depth as servers and with more.
std::vector<Compared> compare_distribution(const std::string& text);
/// A disk with a head, and one with channels: reads and writes anywhere, at three loads.
std::vector<Compared> compare_hdd();
std::vector<Compared> compare_ssd();

/// A text for each distribution; that of `empirical` is in no file.
inline constexpr const char* distributions[] = {
    "const:1ms",           "uniform:0s:2ms",   "exp:1ms",       "erlang:4:1ms",
    "lognormal:600us:4ms", "pareto:500us:2.2", "empirical:file"};

}  // namespace blkscope::queueing
