// SharedMemory: what the clients of one worker share: requests, and memory for their data.
//
// Large pieces are for the clients in the order of their arrival: the first one that found no room
// stands at the head of a line, and no other large request overtakes it.
//
// Units:     bytes.
// Ownership: owns all; acquire() lends a request with its memory until release().
// Threads:   one worker.
// Errors:    the constructor throws std::system_error; a request that there is no room for is
//            nullptr.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/nbd/transmission/arena.hpp"
#include "driver/nbd/transmission/pending_request.hpp"

namespace blkscope::nbd {

class ClientMemory;

class SharedMemory {
  public:
    SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// A request for `client` with `bytes` of memory. Where that is a large piece, and there is
    /// room, the client no longer stands in line.
    PendingRequest* acquire(const ClientMemory& client, uint32_t bytes);
    void release(PendingRequest& request);

    /// The client waits for `bytes`: the first to wait for a large piece is at the head of the line.
    void stand_in_line(const ClientMemory& client, uint32_t bytes);
    void leave_line(const ClientMemory& client);

    /// Whether something became free since the last call; waiting clients may try again.
    bool take_released();
    void note_release() { released_ = true; }

    /// One second has passed. Unused pages go back to the system: at once if no clients are there
    /// any more, otherwise after some seconds without a request.
    void tick(bool any_clients);

  private:
    static bool is_large(uint32_t bytes) { return bytes > Arena::slot_bytes_max; }

    Arena arena_;
    RequestPool requests_;
    const ClientMemory* first_in_line_ = nullptr;
    bool released_ = false;
    bool used_ = false;  // since the last tick
    unsigned idle_seconds_ = 0;
};

}  // namespace blkscope::nbd
