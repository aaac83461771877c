/*
 * sysctlbyname(3) of FreeBSD, for the names that monitors of devices ask for:
 *
 *     kern.devstat.numdevs      int
 *     kern.devstat.generation   long
 *     kern.devstat.version      int
 *     kern.devstat.all          a long, the generation, and the struct devstats behind it
 *     kern.cp_time              long [CPUSTATES], ticks
 *     kern.tty_nin, kern.tty_nout   long, characters
 *     hw.ncpu                   int
 *
 * Threads: any. Errors: -1; ENOENT any other name, ENOMEM oldp is too small, EPERM a new value, EBUSY
 * the devices changed meanwhile.
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_SYSCTL_H
#define _BLKSCOPE_FREEBSD_SYS_SYSCTL_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* oldp may be NULL: *oldlenp is then set to the bytes that are needed. */
int sysctlbyname(const char *name, void *oldp, size_t *oldlenp, const void *newp, size_t newlen);

#ifdef __cplusplus
}
#endif

#endif
