// Loads: the requests of a prediction, drawn or from a trace.
//
//     --arrivals poisson:8000 --mix read=70,write=30 ─▶ LoadSpec ─▶ DrawnLoad ──┐
//     a trace ─▶ in_order_of_the_device() ───────────────────────▶ TracedLoad ─┴─▶ predict()
//
// The n-th request of a drawn load is a function of the seed and n. So the same seed gives the same
// load on every machine with the same logarithm.
//
// Units:     nanoseconds, bytes; requests per second.
// Ownership: a traced load borrows the requests.
// Threads:   one.
// Errors:    the functions throw std::invalid_argument with one line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "blockdev/virtual_time/prediction.hpp"
#include "trace/request.hpp"

namespace blkscope {

struct LoadSpec {
    bool poisson = true;    // else at even gaps
    double per_second = 0;  // of a closed loop 0
    std::array<uint64_t, Buf::op_count> weights{1};
    uint64_t request_bytes = 4096;
    bool sequential = false;           // each request begins at the end of the one before
    uint64_t size_bytes = 0;           // of the device
    std::optional<hrtime_t> duration;  // none: no end
    uint64_t seed = 0;
};

/// Sets the arrivals to "poisson:RATE" or "even:RATE".
void take_arrivals(std::string_view text, LoadSpec& load);
/// Sets the weights to "read=70,write=30"; the operations are those of --model.
void take_mix(std::string_view text, LoadSpec& load);

class DrawnLoad final : public virtual_time::Load {
  public:
    explicit DrawnLoad(const LoadSpec& spec);
    bool next(virtual_time::Asked& asked) override;

  private:
    const LoadSpec spec_;
    uint64_t weight_sum_ = 0;
    uint64_t places_;  // whole requests of the device
    uint64_t number_ = 0;
    uint64_t place_ = 0;
    double at_ns_ = 0;
};

class TracedLoad final : public virtual_time::Load {
  public:
    explicit TracedLoad(const std::vector<trace::Request>& requests) : requests_(requests) {}
    bool next(virtual_time::Asked& asked) override;

  private:
    const std::vector<trace::Request>& requests_;
    size_t next_ = 0;
};

/// The requests in the order in which the device got them, less those that it never got. Only those
/// of the first `duration`, if there is one. Refuses a request that a device of this size cannot have.
[[nodiscard]] std::vector<trace::Request> in_order_of_the_device(const trace::Trace& trace,
                                                                 uint64_t size_bytes,
                                                                 std::optional<hrtime_t> duration);

/// Requests that were under way together, and the share of the time in which there were as many.
/// A request whose end is unknown does not count.
struct InFlight {
    uint64_t most = 0;
    double share = 0;
};
[[nodiscard]] InFlight in_flight(const std::vector<trace::Request>& requests);

}  // namespace blkscope
