// UpstreamKstat: the figures of a backing's connection to another server.
//
// Published (instance N):
//     nbd:N:nbdN,upstream  NAMED, class misc: state, a text; connections, reconnects, resent,
//                          losses and round_trip, uint64
//
// Units:     round_trip in nanoseconds: the shortest of the last requests, from the first byte sent
//            to the last byte received.
// Ownership: owns its kstat.
// Threads:   the backing's worker writes; the kstat's readers may be on any thread.
// Errors:    kstat_create() logs, and the figures are then not published.
#pragma once

#include <sys/kstat.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/accounting/subject.hpp"

namespace blkscope::nbd {

class UpstreamKstat {
  public:
    /// `waiting`: there is no connection. The next request makes one, or is waiting for it.
    enum class State : uint8_t { connected, waiting, changed };

    void publish(const Subject& subject);
    /// The device's name, for messages; empty before publish().
    [[nodiscard]] const std::string& device() const { return device_; }

    void connected(uint64_t connections);
    void disconnected(State state);
    [[nodiscard]] State state() const { return state_.load(std::memory_order_relaxed); }
    void reconnected() { add(reconnects_); }
    void resent() { add(resent_); }
    void lost() { add(losses_); }
    void answered_in(uint64_t ns);

    [[nodiscard]] uint64_t connections() const { return connections_.load(); }
    [[nodiscard]] uint64_t reconnects() const { return reconnects_.load(); }
    [[nodiscard]] uint64_t resent_requests() const { return resent_.load(); }

  private:
    using Counter = std::atomic<uint64_t>;
    static constexpr unsigned answers_per_time = 64;

    static void add(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }
    static int update(kstat_t* ksp, int rw);

    std::string device_;
    std::atomic<State> state_{State::connected};
    Counter connections_{0};
    Counter reconnects_{0};
    Counter resent_{0};
    Counter losses_{0};
    Counter round_trip_ns_{0};
    uint64_t shortest_ns_ = std::numeric_limits<uint64_t>::max();  // of the current answers
    unsigned answers_ = 0;
    OwnedKstat kstat_;
};

}  // namespace blkscope::nbd
