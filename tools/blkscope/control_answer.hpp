// The server's side of a control request: one line in, one line out.
//
//     line ─ parse_request ─▶ ControlRequest ── parsed for the device ──▶ change ──▶ {"ok":true,...}
//                  └─────────────── any error: nothing has changed ────────────────▶ {"error":...}
//
// Ownership: borrows the server for the call.
// Threads:   the control thread, so that no export is added or removed meanwhile.
// Errors:    the answer has them, with the exit status for the command. The caller gets
//            std::bad_alloc only, if there is no memory for the answer.
#pragma once

#include <string>
#include <string_view>

#include "driver/nbd/server/peer.hpp"
#include "driver/nbd/server/server.hpp"

namespace blkscope {

/// Answers the line, and logs a change with the client that asked for it.
std::string answer_control(nbd::Server& server, const nbd::Peer& who, std::string_view line);

}  // namespace blkscope
