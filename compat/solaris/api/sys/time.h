/* An addition to Linux' own <sys/time.h>: gethrtime(), gethrvtime(), and units of time. */
#ifndef _BLKSCOPE_SOLARIS_SYS_TIME_H
#define _BLKSCOPE_SOLARIS_SYS_TIME_H

#pragma GCC system_header /* for include_next, and repeated types */

#include <sys/kstat.h>
#include_next <sys/time.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of these units in a second. */
#define SEC 1              /* seconds */
#define MILLISEC 1000      /* milliseconds */
#define MICROSEC 1000000   /* microseconds */
#define NANOSEC 1000000000 /* nanoseconds, as gethrtime() counts them */

/*
 * The time that the calling thread has had on a processor, in nanoseconds, in programs and in the
 * kernel. The clock stands while the thread sleeps or waits for a processor.
 *
 * Threads: any; the result is the caller's own.
 * Source:  gethrvtime(3C). With -std=c99 alone the C library hides the clock, and the function is
 *          absent.
 */
#ifdef CLOCK_THREAD_CPUTIME_ID
static __inline__ long long gethrvtime(void) { /* hrtime_t, which may not be declared yet */
    struct timespec now;
    long long ns;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    ns = now.tv_sec;
    return ns * NANOSEC + now.tv_nsec;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
