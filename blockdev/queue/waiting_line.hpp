// WaitingLine: requests that have not started, in the order of their arrival. StartOrder: whether a
// device has one line, or one for each client.
//
// Units:     requests.
// Ownership: borrows its members. A line is in one list of lines at most.
// Threads:   a worker, with the device locked.
// Errors:    none.
#pragma once

#include <cstdint>

#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/fifo.hpp"

namespace blkscope {

/// The order in which requests start: see blockdev/queue/waiting_requests.hpp.
enum class StartOrder : uint8_t { arrival, fair };

struct WaitingLine {
    BufQueue waiting;
    BufQueue refused;  // in this pass; all arrived before the waiting ones
    WaitingLine* next = nullptr;
};

using WaitingLines = Fifo<WaitingLine, &WaitingLine::next>;

}  // namespace blkscope
