// Reserve: one request, and memory for its data, that belong to one client alone.
//
// A client that finds the shared memory used up goes on with its reserve, one request at a time. So
// no client can be stopped by what others hold.
//
// The memory is mapped when it is first used. Its pages go back to the system when the reserve has
// not been used for a while.
//
// Units:     bytes.
// Ownership: owns the request and the memory; acquire() lends both until release().
// Threads:   one worker.
// Errors:    nullptr while the request is out, for more than reserve_bytes_max, and where the system
//            has no memory to map.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/session_limits.hpp"

namespace blkscope::nbd {

class Reserve {
  public:
    Reserve() { request_.of_reserve = true; }
    ~Reserve();
    Reserve(const Reserve&) = delete;
    Reserve& operator=(const Reserve&) = delete;

    PendingRequest* acquire(uint32_t data_bytes);
    void release(PendingRequest& request);

    [[nodiscard]] bool is_out() const { return out_; }

    /// One second has passed.
    void tick();

  private:
    PendingRequest request_;
    std::byte* memory_ = nullptr;
    bool out_ = false;
    bool touched_ = false;  // pages may be resident
    unsigned idle_seconds_ = 0;
};

}  // namespace blkscope::nbd
