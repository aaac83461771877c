/* Below the C library's own <sys/param.h>: what FreeBSD's has besides. */
#ifndef _BLKSCOPE_FREEBSD_SYS_PARAM_H
#define _BLKSCOPE_FREEBSD_SYS_PARAM_H

#pragma GCC system_header /* for include_next */

#include_next <sys/param.h>
#include <sys/types.h>

/* The interfaces are those of FreeBSD 14.0: programs ask for the version to know what there is. */
#undef __FreeBSD_version
#define __FreeBSD_version 1400097

#define MAXCOMLEN 19

#define nitems(array) (sizeof(array) / sizeof((array)[0]))
#define rounddown(x, y) (((x) / (y)) * (y))
#define rounddown2(x, y) ((x) & ~((y)-1)) /* y is a power of two */
#define roundup2(x, y) (((x) + ((y)-1)) & ~((y)-1))

/* A fixpt_t's one, for those who do not take it from struct loadavg. */
#define FSHIFT 11
#define FSCALE (1 << FSHIFT)

#endif
