// Failures: whether the storage has a reason for an error that a client got.
//
// The reason is an operation of the request's file that failed meanwhile, in its range and with an errno of that error.
// A read's error names the byte at which that operation began. A failed sync stays failed.
//
// Units:  bytes; nanoseconds of virtual time.
// Source: the NBD protocol document, "Error values" and NBD_REPLY_TYPE_ERROR_OFFSET.
#pragma once

#include <optional>
#include <span>

#include "driver/nbd/protocol.hpp"
#include "simulated_kernel.hpp"

namespace blkscope::simulation {

/// A request and the error in its answer.
struct FailedRequest {
    nbd::Request request;
    nbd::Error error = nbd::Error::eio;
    hrtime_t made = 0;
    std::optional<uint64_t> at;  // the byte that the error names
};

/// `file`: null for a disk without one, which never fails.
[[nodiscard]] bool explain(std::span<const Failure> failures, const SimulatedFile* file,
                           const FailedRequest& failed);

}  // namespace blkscope::simulation
