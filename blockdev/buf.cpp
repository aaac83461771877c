#include "blockdev/buf.hpp"

#include <cassert>
#include <cerrno>

#include "blockdev/device.hpp"

namespace blkscope {

Buf::Next Buf::absorb(int32_t result) {
    assert(state == State::running);

    if ((result == -EINTR || result == -EAGAIN) && retries_left > 0) {
        // Bounded: a file that never says anything else must not hold a run-queue slot for ever.
        --retries_left;
        return Next::again;
    }
    if (result < 0) {
        error = -result;
        return Next::finish;
    }
    if (!in_queues()) {
        resid = 0;
        return Next::finish;
    }
    assert(static_cast<uint32_t>(result) <= resid);
    resid -= static_cast<uint32_t>(result);
    if (resid == 0) return Next::finish;
    if (result == 0) {
        // The backing file ends before the device does: someone truncated it under us.
        error = EIO;
        return Next::finish;
    }
    return Next::again;
}

void Buf::complete(int32_t result) {
    device->complete(*this, result);
}

}  // namespace blkscope
