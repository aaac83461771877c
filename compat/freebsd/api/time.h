/* Below the C library's own <time.h>: what FreeBSD calls Linux' clocks. */
#ifndef _BLKSCOPE_FREEBSD_TIME_H
#define _BLKSCOPE_FREEBSD_TIME_H

#pragma GCC system_header /* for include_next */

#include_next <time.h>

/*
 * FreeBSD's names for Linux' clocks. CLOCK_UPTIME and CLOCK_MONOTONIC stop while the machine
 * sleeps. A _FAST clock has the resolution of a tick, some milliseconds, and costs less to read. A
 * _PRECISE clock has the resolution of nanoseconds.
 *
 * Source: clock_gettime(2) of both systems.
 */
#define CLOCK_UPTIME CLOCK_MONOTONIC
#define CLOCK_UPTIME_PRECISE CLOCK_MONOTONIC
#define CLOCK_UPTIME_FAST CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_PRECISE CLOCK_MONOTONIC
#define CLOCK_MONOTONIC_FAST CLOCK_MONOTONIC_COARSE
#define CLOCK_REALTIME_PRECISE CLOCK_REALTIME
#define CLOCK_REALTIME_FAST CLOCK_REALTIME_COARSE
#define CLOCK_SECOND CLOCK_REALTIME_COARSE /* on FreeBSD, whole seconds only */

#endif
