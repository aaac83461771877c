#include "bursts.hpp"

#include <algorithm>

#include "virtual_device.hpp"

namespace blkscope::queueing {
namespace {

using Name = model::LimitSpec::Name;

constexpr uint32_t depth = 64;  // more than the clients, so that only the limits make a read wait
constexpr int clients = 32;
constexpr hrtime_t second = 1'000'000'000;
constexpr hrtime_t gap_of_burst_max = second / 1000;  // at PEAK it is 1/3000 s, at BASE 1/300 s

VirtualDevice limited(const std::string& limits) {
    return {model::ModelSpec::parse("read=const:100us", nullptr), depth,
            model::LimitSpec::parse(limits)};
}

// Finds the end of the credits in the moments of starting.
class Starts {
  public:
    void add(hrtime_t moment) {
        if (end_ == 0 && moment - last_ > gap_of_burst_max) end_ = last_;
        last_ = moment;
    }
    [[nodiscard]] hrtime_t credits_end() const { return end_; }
    [[nodiscard]] bool done() const { return end_ != 0 && last_ >= end_ + second; }

  private:
    hrtime_t last_ = 0;
    hrtime_t end_ = 0;
};

Burst burst_at(const VirtualDevice& device, const Starts& starts, hrtime_t now) {
    const kstat_io_t io = device.snapshot(now);
    return {.credits_end = starts.credits_end(),
            .exceeded_ns = device.limits().exceeded_ns(Name::iops, now),
            .wtime = static_cast<uint64_t>(io.wtime)};
}

}  // namespace

Burst burst_of_clients(const std::string& limits) {
    VirtualDevice device = limited(limits);
    for (int i = 0; i < clients; ++i) device.arrive(0, {});
    Starts starts;
    hrtime_t now = 0;
    while (!starts.done()) {
        now = std::min(device.next_end(), device.next_tokens());
        if (now < device.next_end()) {
            device.start_again(now);
            continue;
        }
        starts.add(device.end().started);
        device.arrive(now, {});
    }
    return burst_at(device, starts, now);
}

Burst burst_of_arrivals(const std::string& limits, hrtime_t gap) {
    VirtualDevice device = limited(limits);
    Starts starts;
    hrtime_t now = 0;
    hrtime_t arrival = gap;
    while (!starts.done()) {
        now = std::min({arrival, device.next_end(), device.next_tokens()});
        if (now == device.next_end()) {
            starts.add(device.end().started);
        } else if (now == device.next_tokens()) {
            device.start_again(now);
        } else {
            device.arrive(now, {});
            arrival += gap;
        }
    }
    return burst_at(device, starts, now);
}

}  // namespace blkscope::queueing
