// Reserve: one request, with memory for its data, for one client only.
//
// When the shared memory is used up, a client continues with its reserve, one request at a time. So
// other clients cannot stop it.
//
// The memory is mapped at first use. The pages go back to the system when the reserve has not been
// used for some seconds.
//
// Units:     bytes.
// Ownership: owns the request and the memory; acquire() lends both until release().
// Threads:   the worker's.
// Errors:    nullptr while the request is lent, for more than reserve_bytes_max, and if mapping
//            fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/zeroed_pages.hpp"
#include "driver/nbd/transmission/pending_request.hpp"
#include "driver/nbd/transmission/session_limits.hpp"

namespace blkscope::nbd {

class Reserve {
  public:
    Reserve() { request_.of_reserve = true; }
    ~Reserve();
    Reserve& operator=(Reserve&&) = delete;

    PendingRequest* acquire(uint32_t data_bytes);
    void release(PendingRequest& request);

    [[nodiscard]] bool is_out() const { return out_; }
    /// The request while it is lent; else null.
    [[nodiscard]] PendingRequest* lent() { return out_ ? &request_ : nullptr; }

    /// Call once a second.
    void tick();

  private:
    PendingRequest request_;
    std::optional<ZeroedPages> memory_;  // from the first use on
    bool out_ = false;
    bool touched_ = false;  // pages may be resident
    unsigned idle_seconds_ = 0;
};

}  // namespace blkscope::nbd
