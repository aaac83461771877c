// Tokens: the limits of a device and of its clients, and when a request that lacks tokens is asked
// again.
//
// Units:     nanoseconds of the model's clock; ticks of the kernel's clock in again_at().
// Ownership: as ClientLimits.
// Threads:   one at a time, with the device locked.
// Errors:    none.
#pragma once

#include <algorithm>
#include <optional>

#include "blockdev/device/client_limits.hpp"
#include "blockdev/model/limits.hpp"
#include "blockdev/queue/buf.hpp"
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

    void set_device(const std::optional<model::Limits>& limits) { device_ = limits; }

    /// Begins a pass over all waiting requests.
    void begin_pass(DeviceQueue& queue, hrtime_t now) {
        clients_.begin(now);
        device_ ? queue.begin_pass(*device_, now) : queue.begin_pass();
    }
    /// When one of the requests that lack tokens may start; nothing if none lacks any.
    [[nodiscard]] std::optional<hrtime_t> again_at(const Kernel& kernel) const {
        std::optional<hrtime_t> again = clients_.again_at();
        if (const auto own = device_ ? device_->again_at() : std::nullopt; own) {
            again = std::min(again.value_or(*own), *own);
        }
        return again ? std::optional(kernel_ticks(kernel, *again)) : std::nullopt;
    }
    /// The later one of `ready` and the moment at which the tokens of the request were there.
    [[nodiscard]] hrtime_t ready(const Buf& buf, hrtime_t ready) const {
        if (device_) ready = std::max(ready, device_->admitted_since());
        const bool has_own = buf.client != nullptr && buf.client->limits;
        return has_own ? std::max(ready, buf.client->limits->admitted_since()) : ready;
    }

  private:
    std::optional<model::Limits> device_;
    ClientLimits clients_;
};

}  // namespace blkscope
