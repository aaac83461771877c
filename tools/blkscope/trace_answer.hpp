// The server's answers about recorded requests, and about requests that are under way.
//
//     recorders of the workers ── requests of the device ──▶ records in hex, the next record of each
//     device ── the slowest of the last minute ──┐
//     workers ── asked, for 100 ms at most ──────┴──▶ requests as objects
//
// A trace shows the requests of other users. So it goes over the control socket only, which serves
// root and the server's own user.
//
// Threads: the control thread.
// Errors:  std::bad_alloc.
#pragma once

#include <cstddef>

#include "driver/nbd/server/server.hpp"
#include "tools/blkscope/control_request.hpp"
#include "tools/program/json.hpp"

namespace blkscope {

program::Json answer_trace(nbd::Server& server, size_t index, const ControlRequest& request);
program::Json answer_slow(nbd::Server& server, size_t index, const ControlRequest& request);

}  // namespace blkscope
