// SimulatedDialer: connects to the model of another server without a handshake, which other tests have.
//
// Units:     nanoseconds of virtual time.
// Ownership: borrows the timeline, the kernel and the server.
// Threads:   a single one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "driver/nbd/client/upstream_dialer.hpp"
#include "other_server.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {

class SimulatedDialer final : public nbd::UpstreamDialer {
  public:
    SimulatedDialer(Timeline& timeline, SimulatedKernel& kernel, OtherServer& server, Random random,
                    unsigned count)
        : timeline_(timeline),
          kernel_(kernel),
          server_(server),
          random_(random),
          places_(random),
          count_(count),
          bytes_(server.offer().size_bytes) {}

    void begin(std::chrono::milliseconds limit) override;
    std::optional<nbd::DialResult> result() override;
    nbd::DialResult dial_now(std::chrono::milliseconds) override {
        return {.failure = "no connection besides"};
    }

  private:
    nbd::RemoteConnection connect();

    Timeline& timeline_;
    SimulatedKernel& kernel_;
    OtherServer& server_;
    Random random_;
    Random places_;  // of its own, so that all else stays as it was
    const unsigned count_;
    const uint64_t bytes_;
    uint64_t sets_ = 0;
    hrtime_t answered_at_ = 0;
    hrtime_t ends_at_ = 0;
};

/// The first connection of a backing: a lost one, whose descriptor is never open.
std::vector<nbd::RemoteConnection> lost_connection(OtherServer& server);

}  // namespace blkscope::simulation
