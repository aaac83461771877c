/*
 * The load of the machine: getloadavg(), and the index of the array that the function fills in. The C
 * library's <stdlib.h> declares the function for its own extensions only, Solaris' always.
 *
 *     double means[LOADAVG_NSTATS];
 *     if (getloadavg(means, LOADAVG_NSTATS) > LOADAVG_5MIN) ... means[LOADAVG_5MIN] ...
 *
 * Threads: any.
 * Source: getloadavg(3C).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_LOADAVG_H
#define _BLKSCOPE_SOLARIS_SYS_LOADAVG_H

#pragma GCC system_header /* a repeated declaration */

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOADAVG_1MIN 0   /* the mean over one minute */
#define LOADAVG_5MIN 1   /* over five minutes */
#define LOADAVG_15MIN 2  /* over a quarter of an hour */
#define LOADAVG_NSTATS 3 /* the number of means */

/* Fills in at most `__count` means, and returns how many; -1: unknown. */
extern int getloadavg(double __means[], int __count) __THROW;

#ifdef __cplusplus
}
#endif

#endif
