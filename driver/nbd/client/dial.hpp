// Dial: a connection to the address of a URI, and its first bytes, each with a deadline.
//
// Units:     none.
// Ownership: the caller owns the socket, which is non-blocking.
// Threads:   any; the calls block until the deadline, and while a host's name is looked up.
// Errors:    a closed descriptor or false, with the reason in errno. 0 in errno: the server has
//            closed the connection.
// Source:    connect(2), getaddrinfo(3).
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "base/descriptor.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope::nbd {

using Deadline = std::chrono::steady_clock::time_point;

/// Tries each address of the host.
[[nodiscard]] Descriptor dial(const Uri& uri, Deadline deadline);

/// Receives exactly so many bytes.
[[nodiscard]] bool receive_all(const Descriptor& socket, std::span<std::byte> to,
                               Deadline deadline);

/// Receives some bytes, one at least; 0 for false.
[[nodiscard]] size_t receive_some(const Descriptor& socket, std::span<std::byte> to,
                                  Deadline deadline);

[[nodiscard]] bool send_all(const Descriptor& socket, std::span<const std::byte> bytes,
                            Deadline deadline);

}  // namespace blkscope::nbd
