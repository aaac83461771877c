// SharedMemory: the requests and the data memory that the clients of one worker share.
//
// Large pieces are given in order of arrival. The first client that finds no room is first in line,
// and no other large request overtakes it.
//
// Units:     bytes.
// Ownership: owns all; acquire() lends a request with its memory until release().
// Threads:   the worker's.
// Errors:    the constructor throws std::system_error. A request without room is nullptr.
#pragma once

#include <cstdint>
#include <utility>

#include "driver/nbd/transmission/arena.hpp"
#include "driver/nbd/transmission/pending_request.hpp"

namespace blkscope::nbd {

class ClientMemory;

class SharedMemory {
  public:
    SharedMemory();
    ~SharedMemory();
    SharedMemory& operator=(SharedMemory&&) = delete;

    /// No client has a request or memory, or waits for a large piece.
    [[nodiscard]] bool idle() const {
        return requests_.idle() && arena_.idle() && first_in_line_ == nullptr;
    }

    /// A request for `client` with `bytes` of memory. A large piece that has room removes the
    /// client from the line.
    PendingRequest* acquire(const ClientMemory& client, uint32_t bytes);
    void release(PendingRequest& request);

    /// Calls `call` for each request that a session has.
    template <class Call>
    void for_each_lent(Call call) {
        requests_.for_each_lent(call);
    }

    /// The client waits for `bytes`. The first client to wait for a large piece is first in line.
    void stand_in_line(const ClientMemory& client, uint32_t bytes);
    void leave_line(const ClientMemory& client);

    /// True if something was released since the last call. Waiting clients may then try again.
    bool take_released() { return std::exchange(released_, false); }
    void note_release() { released_ = true; }

    /// Call once a second. Unused pages go back to the system: at once without clients, else after
    /// some seconds without a request.
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
