#include "tools/program/pace.hpp"

#include "tools/program/signals.hpp"

namespace blkscope::program {

bool Pace::wait(const std::function<void()>& continued) {
    if (at_last()) return false;
    ++made_;
    continued_ |= take_continuation();
    return sleep_through(cadence_.next_wake(gethrtime(), continued_), [&] {
        continued_ = true;
        continued();
    });
}

}  // namespace blkscope::program
