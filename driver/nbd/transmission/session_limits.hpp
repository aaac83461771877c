// What one client may have in hand, and when a client that stands still is closed.
//
// Units: as each name says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blkscope::nbd {

/// Requests of one client, from header to the last byte of the reply.
inline constexpr uint32_t requests_held_max = 256;

/// Data of these; a single request may have more.
inline constexpr uint64_t bytes_held_max = uint64_t{16} << 20;

/// The data of the requests that one turn takes in (measured: docs/performance.md).
inline constexpr uint64_t share_bytes_max = uint64_t{256} << 10;

/// A client that has to take or to give is slow unless so much moves within idle_seconds_max. A
/// send is heard of when all of it is taken, so the amount is that of one send.
inline constexpr uint64_t progress_bytes_min = uint64_t{1} << 20;

/// A slow client that holds memory for which others wait is closed after so long.
inline constexpr unsigned idle_seconds_max = 10;

/// A client has so long to take its last replies when its export closes.
inline constexpr unsigned close_seconds_max = 5;

/// Data of the one request that each client can always have in hand, whatever others hold.
inline constexpr size_t reserve_bytes_max = size_t{2} << 20;

}  // namespace blkscope::nbd
