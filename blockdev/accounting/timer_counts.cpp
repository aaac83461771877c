#include "blockdev/accounting/timer_counts.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace blkscope {

TimerCounts::TimerCounts(const Seqlock& seq, const Subject& subject) : seq_(seq) {
    if (!subject.published()) return;
    constexpr std::array<const char*, count> names{"flush", "trim", "write_zeroes", "submit"};
    kstat_ =
        create_device_kstat(subject, {"timers", "misc", KSTAT_TYPE_TIMER, count}, this, update);
    kstat_timer_t* timer = KSTAT_TIMER_PTR(kstat_);
    for (const char* name : names) kstat_timer_init(timer++, name);
    assert(timer == KSTAT_TIMER_PTR(kstat_) + count);
    kstat_install(kstat_.get());
}

int TimerCounts::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& counts = *static_cast<const TimerCounts*>(ksp->ks_private);
    const auto copies = counts.seq_.read([&] {
        std::array<Timer, count> timers;
        std::ranges::transform(counts.timers_, timers.begin(), &Timer::observed);
        return timers;
    });
    kstat_timer_t* record = KSTAT_TIMER_PTR(ksp);
    for (const Timer& timer : copies) timer.in_nanoseconds(*record++);
    return 0;
}

}  // namespace blkscope
