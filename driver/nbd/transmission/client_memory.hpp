// ClientMemory: the requests and memory of one client, and whether other clients wait for them.
//
//     acquire() ─▶ the client's share? ─▶ shared memory? ─▶ its reserve? ─▶ nullptr: wait
//
// A client never gets more than its share, however much memory is free. When the shared memory is
// used up, the client continues with its reserve, one request at a time.
//
// Units:     bytes.
// Ownership: owns the reserve; borrows the shared memory, which outlives it.
// Threads:   the worker's.
// Errors:    nullptr where there is no room.
#pragma once

#include <cstdint>

#include "blockdev/accounting/client_connection.hpp"
#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/reserve.hpp"
#include "driver/nbd/transmission/shared_memory.hpp"

namespace blkscope::nbd {

class ClientMemory {
  public:
    explicit ClientMemory(SharedMemory& shared) : shared_(shared) {}
    ~ClientMemory();
    ClientMemory& operator=(ClientMemory&&) = delete;

    /// A request with `data_bytes` of memory.
    PendingRequest* acquire(uint32_t data_bytes);
    void release(PendingRequest& request);
    /// The reserve's request while it is lent; else null.
    [[nodiscard]] PendingRequest* lent_reserve() { return reserve_.lent(); }

    /// The client asks for no more memory.
    void stop_waiting();

    /// Call once a second; resets lacks(). `owes`: the client has replies to read or data to send.
    /// `bytes_moved`: bytes through its socket since the connection began.
    void tick(bool owes, uint64_t bytes_moved);

    /// A request of the client waits for room, so nothing is received from the client.
    [[nodiscard]] bool waits() const { return waits_; }
    /// In the last second this client found no shared memory for a request.
    [[nodiscard]] bool lacks() const { return lacks_; }
    /// True if the client uses shared memory and is slow. A slow client owed something during
    /// idle_seconds_max and moved less than progress_bytes_min.
    [[nodiscard]] bool is_stalled() const;
    [[nodiscard]] uint32_t requests_held() const { return requests_held_; }
    /// For the statistics of the client.
    [[nodiscard]] const ConnectionFigures& figures() const { return figures_; }

  private:
    PendingRequest* find_room(uint32_t data_bytes);
    void hold(uint64_t bytes) { publish(figures_.held_bytes, bytes); }

    SharedMemory& shared_;
    Reserve reserve_;
    uint32_t requests_held_ = 0;
    ConnectionFigures figures_;
    bool waits_ = false;  // the last acquire() failed
    bool lacks_ = false;
    uint64_t bytes_moved_ = 0;  // when idle_seconds_ began
    unsigned idle_seconds_ = 0;
};

}  // namespace blkscope::nbd
