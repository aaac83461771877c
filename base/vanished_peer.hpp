// Ends TCP connections whose other machine has gone without a word: it lost its power, its network or its place in
// a firewall's table. Without this the kernel keeps an idle connection for two hours, and one with unsent data for
// a quarter of an hour.
//
//     idle:      last byte ── 30 s ──▶ probe ── 10 s ──▶ probe ── 10 s ──▶ probe ── 10 s ──▶ ETIMEDOUT
//     with data: first byte without an acknowledgement, or a peer without room ── 60 s ──▶ ETIMEDOUT
//
// Threads: any.
// Errors:  none. A Unix socket needs nothing, because its peer is of this machine.
// Source:  tcp(7): TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT.
#pragma once

namespace blkscope {

/// The time from a peer's last sign of life to the connection's end.
inline constexpr int vanished_peer_seconds = 60;

void end_with_vanished_peer(int socket);

}  // namespace blkscope
