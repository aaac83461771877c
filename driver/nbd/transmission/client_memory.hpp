// ClientMemory: what one client has in hand of requests and memory, and whether it keeps others
// waiting.
//
//     acquire() ─▶ the client's share? ─▶ shared memory? ─▶ its reserve? ─▶ nullptr: it waits
//
// A client is bounded by its share, however much memory is free. When the shared memory is used up
// the client goes on with its reserve, one request at a time.
//
// Units:     bytes.
// Ownership: owns the reserve; borrows the shared memory, which outlives it.
// Threads:   one worker.
// Errors:    nullptr where there is no room.
#pragma once

#include <cstdint>

#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/reserve.hpp"
#include "driver/nbd/transmission/shared_memory.hpp"

namespace blkscope::nbd {

class ClientMemory {
  public:
    explicit ClientMemory(SharedMemory& shared) : shared_(shared) {}
    ~ClientMemory();
    ClientMemory(const ClientMemory&) = delete;
    ClientMemory& operator=(const ClientMemory&) = delete;

    /// A request with room for its data.
    PendingRequest* acquire(uint32_t data_bytes);
    void release(PendingRequest& request);

    /// The client asks for nothing more.
    void stop_waiting();

    /// One second has passed. `owes`: the client has something to take or to give; `bytes_moved`
    /// has it moved since the beginning. What lacks() said is forgotten.
    void tick(bool owes, uint64_t bytes_moved);

    /// In the last second there was no shared memory for a request of this client.
    [[nodiscard]] bool lacks() const { return lacks_; }
    /// For idle_seconds_max the client has owed something and moved less than progress_bytes_min,
    /// and it holds memory that is shared.
    [[nodiscard]] bool hogs() const;
    [[nodiscard]] uint32_t requests_held() const { return requests_held_; }

  private:
    SharedMemory& shared_;
    Reserve reserve_;
    uint32_t requests_held_ = 0;
    uint64_t bytes_held_ = 0;
    bool lacks_ = false;
    uint64_t bytes_moved_ = 0;  // when the seconds below began
    unsigned idle_seconds_ = 0;
};

}  // namespace blkscope::nbd
