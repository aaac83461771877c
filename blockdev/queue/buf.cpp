#include "blockdev/queue/buf.hpp"

#include <cerrno>

#include "blockdev/device/device.hpp"
#include "blockdev/device/lane.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {

Buf::Next Buf::absorb(int32_t result) {
    assert(state == State::running);
    assert(resid <= bcount);
    assert(retries_left <= retries_max);
    assert(error == 0);  // Backing::more() has cleared any earlier one

    if ((result == -EINTR || result == -EAGAIN) && retries_left > 0 &&
        !planted("interrupted-fails")) {
        // Bounded: a file that only ever fails like this must not keep its run-queue slot for ever.
        --retries_left;
        return Next::again;
    }
    if (result < 0) {
        error = -result;
        return Next::finish;
    }
    if (op == Op::write && step != Step::work) return Next::finish;  // moves nothing
    const uint64_t done = in_queues() || result > 0 ? static_cast<uint64_t>(result) : covers;
    assert(done <= resid);
    resid -= done;
    if (resid == 0 || extents.full()) return Next::finish;
    if (done == 0) {
        // The backing file is shorter than the device: another process truncated it.
        error = planted("end-of-file-ignored") ? 0 : EIO;
        return Next::finish;
    }
    return Next::again;
}

bool Buf::declined() const {
    return op == Op::write_zeroes && fast_zero && error == EOPNOTSUPP;
}

void Buf::complete(int32_t result) {
    assert(lane != nullptr);
    lane->device().complete(*this, result);
}

}  // namespace blkscope
