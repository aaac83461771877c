// Tokens: the limits of a device and of its clients, and when a request that lacks tokens is asked
// again.
//
//     begin_pass() ─▶ DeviceQueue::next() ... ─▶ again_at()
//
// The refused requests are asked again when a bucket that one of them lacks has tokens. Until then a
// pass goes on, and asks only for new requests. So a request that waits costs nothing.
//
// Units:     nanoseconds of the model's clock; ticks of the kernel's clock in again_at().
// Ownership: as ClientLimits.
// Threads:   one at a time, with the device locked.
// Errors:    none.
#pragma once

#include <cstdint>
#include <optional>

#include "blockdev/device/client_limits.hpp"
#include "blockdev/model/limits.hpp"
#include "blockdev/queue/device_queue.hpp"
#include "blockdev/ring/kernel.hpp"

namespace blkscope {

class Tokens {
  public:
    /// Whether the device or its clients have limits.
    [[nodiscard]] bool limited() const { return device_.has_value() || clients_.hold(); }
    /// The limits of the device; nullptr if there are none.
    [[nodiscard]] model::Limits* device() { return device_ ? &*device_ : nullptr; }
    [[nodiscard]] ClientLimits& clients() { return clients_; }

    void set_device(const std::optional<model::Limits>& limits);
    void set_clients(const std::optional<model::LimitSpec>& limits, hrtime_t now);

    /// Begins a pass over all waiting requests, or goes on with the last one.
    void begin_pass(DeviceQueue& queue, hrtime_t now);
    /// When a bucket that requests lack has tokens; nothing if they lack none.
    [[nodiscard]] std::optional<hrtime_t> again_at(const DeviceQueue& queue, const Kernel& kernel);

  private:
    [[nodiscard]] bool is_over(hrtime_t now) const;

    std::optional<model::Limits> device_;
    ClientLimits clients_;
    bool begins_ = true;     // the next pass is a new one, whatever the moment
    bool counted_ = false;   // again_at_ is of the current refusals
    uint64_t refusals_ = 0;  // of the queue, when it was computed
    std::optional<hrtime_t> again_at_;
};

}  // namespace blkscope
