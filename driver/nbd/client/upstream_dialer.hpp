// UpstreamDialer: connects to an NBD server in the background, while a ring goes on.
//
// Several connections are made only to a server with CAN_MULTI_CONN. Without it, a flush on one
// connection need not cover the writes of another. ThreadDialer takes fewer if the server has no
// place for all. A server may still hold connections that it has not missed yet.
//
// Units:     milliseconds.
// Ownership: result() gives the connections to the caller.
// Threads:   a single one. ThreadDialer has a thread for each attempt, which ends by itself, also
//            when the dialer is destroyed meanwhile. Only these threads look names up, because that may
//            block for long.
// Errors:    an attempt that failed has the reason in one line.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/nbd/client/connect.hpp"

namespace blkscope::nbd {

struct DialResult {
    std::vector<RemoteConnection> connections = {};  // empty: the attempt has failed
    std::string failure = {};
};

class UpstreamDialer {
  public:
    virtual ~UpstreamDialer() = default;
    UpstreamDialer& operator=(UpstreamDialer&&) = delete;

    /// Begins an attempt, in which each connection takes `limit` at most. One attempt at a time.
    virtual void begin(std::chrono::milliseconds limit) = 0;
    /// Nothing while the attempt is under way.
    virtual std::optional<DialResult> result() = 0;
    /// Makes one connection at once, for a short look, where the server was last. Blocks up to the limit.
    virtual DialResult dial_now(std::chrono::milliseconds limit) = 0;
};

/// The longest time for one connection.
inline constexpr std::chrono::milliseconds upstream_dial_time_max{5'000};

/// If only some of the connections can be made, or only some in good time.
enum class Fewer : uint8_t { refused, taken };

/// Makes the connections of a backing: `count`, or one if the server allows no more. Blocks up to the
/// limit twice: for the first, and for all others together. Looking the name up may take longer. Throws as
/// connect_to_export().
[[nodiscard]] std::vector<RemoteConnection> connect_upstream(const Uri& uri, unsigned count,
                                                             std::chrono::milliseconds limit,
                                                             Fewer fewer);

/// The wishes of a backing.
[[nodiscard]] ClientWishes upstream_wishes();

class ThreadDialer final : public UpstreamDialer {
  public:
    /// `address` is that of the first connection, `count` as connect_upstream().
    ThreadDialer(Uri uri, const ServerAddress& address, unsigned count)
        : uri_(std::move(uri)), count_(count), address_(address) {}

    void begin(std::chrono::milliseconds limit) override;
    std::optional<DialResult> result() override;
    DialResult dial_now(std::chrono::milliseconds limit) override;

  private:
    struct Attempt;

    const Uri uri_;
    const unsigned count_;
    ServerAddress address_;  // of the latest connection
    std::shared_ptr<Attempt> attempt_;
};

}  // namespace blkscope::nbd
