/* Below Linux' own <sys/time.h>: gethrtime(), and the units that go with it. */
#ifndef _BLKSCOPE_SOLARIS_SYS_TIME_H
#define _BLKSCOPE_SOLARIS_SYS_TIME_H

#pragma GCC system_header /* for include_next, and types told twice */

#include <sys/kstat.h>
#include_next <sys/time.h>

/* Of these there are so many in a second. */
#define SEC 1
#define MILLISEC 1000
#define MICROSEC 1000000
#define NANOSEC 1000000000

#endif
