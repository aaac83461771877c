// The clock functions of <sys/kstat.h>.
#include <sys/kstat.h>

#include "base/clock.hpp"

extern "C" hrtime_t gethrtime_unscaled(void) {
    // Without a fence the counter may be read before the caller's lock is taken. A thread that
    // locked later could then stamp an earlier moment.
#if defined(__x86_64__) || defined(__i386__)
    _mm_lfence();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
    return blkscope::now_unscaled();
}

extern "C" void scalehrtime(hrtime_t* ticks) {
    *ticks = blkscope::to_ns(*ticks);
}
