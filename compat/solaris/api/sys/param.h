/*
 * An addition to Linux' own <sys/param.h>: pages of memory, and the unit of the avenrun records of
 * unix:0:system_misc. A load of 1 is FSCALE.
 *
 * Source: the names are those of Solaris' <sys/param.h>; btop(9F) and ptob(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PARAM_H
#define _BLKSCOPE_SOLARIS_SYS_PARAM_H

#pragma GCC system_header /* for include_next, and repeated types */

#include_next <sys/param.h>
#include <sys/types.h>
#include <unistd.h>

#define FSHIFT 8
#define FSCALE (1 << FSHIFT)

#define MAXNAMELEN 256 /* bytes of a file's name, the NUL included */

/* The bytes of a page, and the power of two that these are. */
#ifndef PAGESIZE
#define PAGESIZE sysconf(_SC_PAGESIZE)
#endif
#ifndef PAGESHIFT
#define PAGESHIFT __builtin_ctzl((unsigned long)PAGESIZE)
#endif

/* Pages to bytes; bytes to whole pages, rounded down and up. ptob and btop keep the argument's type. */
#define ptob(pages) ((pages) << PAGESHIFT)
#define btop(bytes) ((bytes) >> PAGESHIFT)
#define btopr(bytes) (((bytes) + ((1UL << PAGESHIFT) - 1)) >> PAGESHIFT)

#endif
