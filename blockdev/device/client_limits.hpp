// ClientLimits: the token buckets of a device's clients, each of which has its own.
//
//     set() ── spec ──▶ each client ── begin() ─▶ DeviceQueue asks the request's client ─▶ again_at()
//
// A request that lacks tokens of its client waits, and requests of other clients may start. The
// requests without a client have no such limit.
//
// Units:     nanoseconds of the model's clock.
// Ownership: borrows each client from opened() to closed().
// Threads:   one at a time, with the device locked.
// Errors:    none.
#pragma once

#include <optional>
#include <vector>

#include "blockdev/model/limit_spec.hpp"
#include "blockdev/queue/client.hpp"

namespace blkscope {

class ClientLimits {
  public:
    [[nodiscard]] bool hold() const { return spec_.has_value(); }

    /// New buckets for all clients, or none.
    void set(const std::optional<model::LimitSpec>& spec, hrtime_t now);
    /// A client has its first connection, or closes its last one.
    void opened(Client& client, hrtime_t now);
    void closed(Client& client, hrtime_t now);

    /// Begins a pass over the waiting requests.
    void begin(hrtime_t now);
    /// When one of the refused requests may start; nothing if none was refused in this pass.
    [[nodiscard]] std::optional<hrtime_t> again_at() const;

  private:
    static void count(Client& client, hrtime_t now);

    std::optional<model::LimitSpec> spec_;
    std::vector<Client*> clients_;
};

}  // namespace blkscope
