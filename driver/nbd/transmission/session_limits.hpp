// Limits of one client's requests and memory, and the times after which a stalled client is closed.
//
// Units: as each name says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blkscope::nbd {

/// Requests of one client, from header to the last byte of the reply.
inline constexpr uint32_t requests_held_max = 256;

/// Data of these requests together. A single request may have more.
inline constexpr uint64_t bytes_held_max = uint64_t{16} << 20;

/// Data that a session receives in one turn (measured: docs/performance.md).
inline constexpr uint64_t share_bytes_max = uint64_t{256} << 10;

/// A client with replies to read or data to send is slow if less than this moves within
/// idle_seconds_max. A send is noticed only when it is complete, so this is the size of one send.
inline constexpr uint64_t progress_bytes_min = uint64_t{1} << 20;

/// After this time a slow client is closed if others wait for its memory.
inline constexpr unsigned idle_seconds_max = 10;

/// The time that a client has to read its last replies when its export closes.
inline constexpr unsigned close_seconds_max = 5;

/// Data of the one request that each client can always have, whatever others use.
inline constexpr size_t reserve_bytes_max = size_t{2} << 20;

}  // namespace blkscope::nbd
