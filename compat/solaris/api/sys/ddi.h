/*
 * Functions that drivers share: ticks of the kernel's clock, and the parts of a device's number.
 *
 * A tick is that of sysconf(_SC_CLK_TCK), a hundredth of a second. A time in ticks is thus less exact
 * than gethrtime(), which drivers for Solaris also have.
 *
 * Threads: any.
 * Source:  drv_usectohz(9F), drv_usecwait(9F), getmajor(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DDI_H
#define _BLKSCOPE_SOLARIS_SYS_DDI_H

#include <poll.h>
#include <sys/buf.h>
#include <sys/cred.h>
#include <sys/mkdev.h>
#include <sys/param.h>
#include <sys/select.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a device's number, and the number of two parts: see <sys/mkdev.h>. */
#define getmajor(device) ((major_t)major(device))
#define getminor(device) ((minor_t)minor(device))
#define makedevice(major_, minor_) makedev(major_, minor_)

/* Microseconds to ticks, rounded up, and ticks to microseconds. */
static __inline__ clock_t drv_usectohz(clock_t microseconds) {
    const long tick = 1000000 / sysconf(_SC_CLK_TCK);
    return (microseconds + tick - 1) / tick;
}
static __inline__ clock_t drv_hztousec(clock_t ticks) {
    return ticks * (1000000 / sysconf(_SC_CLK_TCK));
}

/*
 * Waits for this time at least; a signal ends the wait earlier. delay() takes ticks, drv_usecwait()
 * microseconds. A time of 0 or less does not wait.
 *
 * Solaris' kernel spins in drv_usecwait; here the thread sleeps.
 */
static __inline__ void drv_usecwait(clock_t microseconds) {
    struct timeval wait;
    if (microseconds <= 0) return;
    wait.tv_sec = microseconds / 1000000;
    wait.tv_usec = microseconds % 1000000;
    (void)select(0, NULL, NULL, NULL, &wait);
}
static __inline__ void delay(clock_t ticks) {
    drv_usecwait(drv_hztousec(ticks));
}

#ifdef __cplusplus
}
#endif

#endif
