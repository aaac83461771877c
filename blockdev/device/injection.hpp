// Injection: the effects of a plan's fault on its request.
//
//     before_backing() ─┬─ run ──▶ the backing ─▶ after_backing() ─▶ the answer
//                       ├─ done ─▶ the answer, without the backing
//                       └─ hang ─▶ nothing, for now
//
//     kind         before                     after
//     error        done, with the error
//     drop         done, with success
//     hang         hang
//     corrupt      a write: bytes flipped     a read: bytes flipped
//     torn         the first sectors only     an error
//     disconnect                              the session closes the connection
//
// Units:     bytes.
// Ownership: borrows for the call.
// Threads:   the worker of the buf's lane, with the device locked.
// Errors:    none of its own.
#pragma once

#include <cstdint>

#include "blockdev/device/plan.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

enum class Verdict : uint8_t { run, done, hang };

/// `block_bytes`: a part of a write is a multiple of this.
[[nodiscard]] Verdict before_backing(Buf& buf, Plan::Fault& fault, uint32_t block_bytes);

/// The backing has answered, or the request is done without it.
void after_backing(Buf& buf, const Plan::Fault& fault);

}  // namespace blkscope
