/* An addition to the C library's own <sys/param.h>: macros of FreeBSD. */
#ifndef _BLKSCOPE_FREEBSD_SYS_PARAM_H
#define _BLKSCOPE_FREEBSD_SYS_PARAM_H

#pragma GCC system_header /* for include_next */

#include_next <sys/param.h>
#include <sys/types.h>

/* The interfaces here are those of FreeBSD 14.0. Programs test the version for interfaces. */
#undef __FreeBSD_version
#define __FreeBSD_version 1400097

#ifndef ARG_MAX /* as Linux' own headers have it, which FreeBSD's programs do not include */
#define ARG_MAX 131072
#endif

#define MAXCOMLEN 19 /* bytes of a command's name, without the NUL */

/* Elements of an array; multiples of y. Arguments are evaluated more than once. */
#define nitems(array) (sizeof(array) / sizeof((array)[0]))
#define rounddown(x, y) (((x) / (y)) * (y))
#define rounddown2(x, y) ((x) & ~((y)-1)) /* y is a power of two */
#define roundup2(x, y) (((x) + ((y)-1)) & ~((y)-1))

/* The number 1 as a fixpt_t. struct loadavg has the same number in fscale. */
#define FSHIFT 11
#define FSCALE (1 << FSHIFT)

#endif
