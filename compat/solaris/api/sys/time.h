/* An addition to Linux' own <sys/time.h>: gethrtime() from <sys/kstat.h>, and units of time. */
#ifndef _BLKSCOPE_SOLARIS_SYS_TIME_H
#define _BLKSCOPE_SOLARIS_SYS_TIME_H

#pragma GCC system_header /* for include_next, and repeated types */

#include <sys/kstat.h>
#include_next <sys/time.h>

/* The number of these units in a second. */
#define SEC 1              /* seconds */
#define MILLISEC 1000      /* milliseconds */
#define MICROSEC 1000000   /* microseconds */
#define NANOSEC 1000000000 /* nanoseconds, as gethrtime() counts them */

#endif
