// ClientLimits: the token buckets of a device's clients, each of which has its own.
//
//     set() ── spec ──▶ each client ── begin() ─▶ DeviceQueue asks the request's client ─▶ again_at()
//
// The buckets of a client that has closed are kept until they would be like new ones. A client that
// connects again with the same key gets them back, so closing a connection brings and costs no tokens.
//
// A request that lacks tokens of its client waits, and requests of other clients may start. The
// requests without a client have no such limit.
//
// Units:     nanoseconds of the model's clock.
// Ownership: borrows each client from opened() to closed(). Owns the buckets of closed clients, at
//            most kept_max. Beyond that the buckets that are full first are dropped.
// Threads:   one at a time, with the device locked.
// Errors:    none.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "blockdev/model/limit_spec.hpp"
#include "blockdev/queue/client.hpp"

namespace blkscope {

class ClientLimits {
  public:
    static constexpr size_t kept_max = 1024;

    [[nodiscard]] bool hold() const { return spec_.has_value(); }

    /// New buckets for all clients, or none.
    void set(const std::optional<model::LimitSpec>& spec, hrtime_t now);
    /// A client has its first connection, or closes its last one.
    void opened(Client& client, hrtime_t now);
    void closed(Client& client, hrtime_t now);

    /// Begins a pass over the waiting requests.
    void begin(hrtime_t now);
    /// The pass goes on. Sometimes tells the statistics how long clients have lacked tokens.
    void go_on(hrtime_t now);
    /// When the first bucket that lacks tokens in this pass has some; nothing if none lacks any.
    [[nodiscard]] std::optional<hrtime_t> again_at() const;

  private:
    struct Kept {
        model::Limits limits;
        hrtime_t full_at;
    };

    static void count(Client& client, hrtime_t now);
    void keep(Client& client, hrtime_t now);

    std::optional<model::LimitSpec> spec_;
    bool begins_full_ = false;  // new buckets are full
    std::vector<Client*> clients_;
    hrtime_t counted_at_ = 0;
    std::map<std::string, Kept> kept_;  // by the client's key
};

}  // namespace blkscope
