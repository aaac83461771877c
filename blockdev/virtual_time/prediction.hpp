// Prediction: a device under a load, in virtual time.
//
//     Load ── requests ──▶ Device on a VirtualKernel ─▶ Figures: kstat_io_t and histograms
//       ▲                     │
//       └── closed loop: one ─┘ ended, so the next one comes
//
// The device, its queue, its model, its limits and its accounting are those that serve clients. Only the
// kernel and the backing differ. A sleep costs no time, and the backing answers at once. So the
// figures have no lateness of a worker, and the same load gives the same figures to the nanosecond.
//
// A prediction begins with an idle device, and ends when all requests have ended.
//
// Units:     nanoseconds of virtual time; bytes.
// Ownership: borrows the load for the call.
// Threads:   one.
// Errors:    std::bad_alloc. std::invalid_argument if the requests wait for more than 30 years together.
//            A load that no device could bear ends early: see Figures::gave_up.
// Source:    kstat_io(9S); Lavenberg: Computer performance modeling handbook, 1983.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blockdev/device/behaviour.hpp"
#include "kstat/histogram/buckets.hpp"
#include "trace/request.hpp"

namespace blkscope::virtual_time {

/// One request of a load, within the device. A read or write has at most INT32_MAX bytes.
struct Asked {
    hrtime_t at = 0;  // since the begin; does not decrease, and means nothing in a closed loop
    uint64_t offset = 0;
    uint64_t bytes = 0;
    trace::Op op = trace::Op::read;
    uint8_t flags = 0;  // as in trace::Request
};

class Load {
  public:
    virtual ~Load() = default;
    Load& operator=(Load&&) = delete;

    /// Fills in the next request. False if there is none.
    virtual bool next(Asked& asked) = 0;
};

struct Setting {
    uint64_t size_bytes = 0;
    uint32_t queue_depth = 1;
    Behaviour behaviour{};
    double speed = 1;        // the times between arrivals are divided by it
    uint32_t in_flight = 0;  // of a closed loop; 0: the requests come at their times
    hrtime_t closed_ns = 0;  // a closed loop sends for so long; 0: until the load ends
};

/// The counts of one histogram of a device, under the name of its kstat2.
struct NamedHistogram {
    std::string name;
    kstat2::Buckets shape;
    std::vector<uint64_t> counts;
    std::string unit;
    std::optional<uint64_t> sum;  // of the values
};

struct Figures {
    kstat_io_t io{};       // with all requests ended
    hrtime_t began = 0;    // on the clock of `io`
    hrtime_t arrived = 0;  // the last arrival
    hrtime_t ended = 0;    // the last end
    uint64_t requests = 0;
    uint64_t waiting = 0;    // requests that waited when the last one had arrived
    uint64_t in_device = 0;  // the same with those that ran
    bool gave_up = false;    // more than waiting_max waited, and the rest was not sent
    // The times in the device grew, or more requests were left at the last arrival than were
    // usually there: the device serves less than it is asked for. Of an open load.
    bool saturated = false;
    std::vector<NamedHistogram> histograms;

    [[nodiscard]] hrtime_t elapsed() const { return ended - began; }
};

/// More waiting requests than memory should be used for.
inline constexpr uint64_t waiting_max = uint64_t{1} << 18;

[[nodiscard]] Figures predict(const Setting& setting, Load& load);

/// The figures of requests that were recorded, by their own stamps and the same accounting. Requests
/// that have not ended are left out.
[[nodiscard]] Figures account(const std::vector<trace::Request>& requests, uint64_t size_bytes);

}  // namespace blkscope::virtual_time
