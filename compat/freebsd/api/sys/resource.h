/* An addition to the C library's own <sys/resource.h>: states of processors, and the load. */
#ifndef _BLKSCOPE_FREEBSD_SYS_RESOURCE_H
#define _BLKSCOPE_FREEBSD_SYS_RESOURCE_H

#pragma GCC system_header /* for include_next */

#include_next <sys/resource.h>
#include <sys/types.h>

/* The index of kern.cp_time and of statinfo.cp_time: ticks by state. <devstat.h> repeats these. */
#ifndef CPUSTATES
#define CP_USER 0   /* programs */
#define CP_NICE 1   /* programs with a positive nice value */
#define CP_SYS 2    /* the kernel */
#define CP_INTR 3   /* interrupts */
#define CP_IDLE 4   /* nothing to do */
#define CPUSTATES 5 /* the number of states */
#endif

/* The value of sysctl vm.loadavg: programs that run or wait for a processor, a mean. */
struct loadavg {
    fixpt_t ldavg[3]; /* over 1, 5 and 15 minutes, times fscale */
    long fscale;      /* the number 1 in ldavg */
};

#endif
