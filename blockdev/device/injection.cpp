#include "blockdev/device/injection.hpp"

#include <cassert>
#include <cerrno>

#include "blockdev/model/fault_rules.hpp"

namespace blkscope {
namespace {

using Kind = model::FaultRule::Kind;

// The rule says whether its error is one of the device, and whether the error of a sync stays.
void fail(Buf& buf, const Plan::Fault& fault, int error) {
    assert(error > 0);
    buf.error = error;
    buf.excused = !fault.counted;
    buf.injected = !fault.sticky;
    if (fault.sticky && buf.fua) buf.step = Buf::Step::sync;
}

void flip(Buf& buf, const Plan::Fault& fault) {
    assert(buf.in_queues());
    buf.extents.clear();  // a hole has no byte to change
    if (buf.bcount > 0) model::corrupt({buf.data, buf.bcount}, fault.corrupt_bytes, fault.draws);
}

// Shortens a write to the sectors that reach the medium.
Verdict tear(Buf& buf, Plan::Fault& fault, uint32_t block_bytes) {
    assert(buf.op == Buf::Op::write);
    assert(block_bytes > 0);
    fault.whole_bytes = buf.bcount;
    const uint64_t bytes = model::torn_bytes(buf.offset, buf.bcount, fault.draws);
    buf.bcount = buf.resid = bytes - bytes % block_bytes;
    assert(buf.bcount < fault.whole_bytes || fault.whole_bytes == 0);
    return buf.bcount > 0 ? Verdict::run : Verdict::done;
}

}  // namespace

Verdict before_backing(Buf& buf, Plan::Fault& fault, uint32_t block_bytes) {
    assert(buf.state == Buf::State::running);
    assert(buf.error == 0 && buf.resid == buf.bcount);
    switch (fault.kind) {
        case Kind::error:
            fail(buf, fault, fault.error);
            return Verdict::done;
        case Kind::drop:
            assert(buf.op == Buf::Op::write);
            buf.resid = 0;
            return Verdict::done;
        case Kind::hang:
            return Verdict::hang;
        case Kind::corrupt:
            if (buf.op == Buf::Op::write) flip(buf, fault);
            return Verdict::run;
        case Kind::torn:
            return tear(buf, fault, block_bytes);
        case Kind::delay:
        case Kind::disconnect:
            return Verdict::run;
    }
    assert(false);
    return Verdict::run;
}

void after_backing(Buf& buf, const Plan::Fault& fault) {
    switch (fault.kind) {
        case Kind::corrupt:
            if (buf.op == Buf::Op::read && buf.error == 0) flip(buf, fault);
            return;
        case Kind::torn: {
            assert(buf.bcount <= fault.whole_bytes);
            buf.resid += fault.whole_bytes - buf.bcount;
            buf.bcount = fault.whole_bytes;
            if (buf.error == 0) fail(buf, fault, EIO);
            return;
        }
        case Kind::disconnect:
            buf.disconnects = true;
            return;
        case Kind::error:
        case Kind::drop:
        case Kind::hang:
        case Kind::delay:
            return;
    }
    assert(false);
}

}  // namespace blkscope
