/* Below the C library's own <sys/resource.h>: what processors do, and how many programs wait for
 * one. */
#ifndef _BLKSCOPE_FREEBSD_SYS_RESOURCE_H
#define _BLKSCOPE_FREEBSD_SYS_RESOURCE_H

#pragma GCC system_header /* for include_next */

#include_next <sys/resource.h>
#include <sys/types.h>

/* Index of kern.cp_time, and of struct statinfo's cp_time; <devstat.h> has them too. */
#ifndef CPUSTATES
#define CP_USER 0
#define CP_NICE 1
#define CP_SYS 2
#define CP_INTR 3
#define CP_IDLE 4
#define CPUSTATES 5
#endif

/* vm.loadavg */
struct loadavg {
    fixpt_t ldavg[3]; /* of 1, 5 and 15 minutes */
    long fscale;      /* their unit */
};

#endif
