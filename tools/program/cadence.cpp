#include "tools/program/cadence.hpp"

namespace blkscope::program {

hrtime_t Cadence::next_wake(hrtime_t now, bool continued) {
    may_restart_ |= continued;
    wake_ += interval_;
    if (wake_ - now >= interval_ / 4) return wake_;
    if (!may_restart_) return now + interval_ / 2;
    wake_ = now + interval_;
    return wake_;
}

}  // namespace blkscope::program
