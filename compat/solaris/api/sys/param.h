/*
 * An addition to Linux' own <sys/param.h>: pages of memory, blocks of disks, sizes of names, and the unit
 * of the avenrun records of unix:0:system_misc. A load of 1 is FSCALE. MIN, MAX, roundup and howmany are
 * in <sys/sysmacros.h> on Solaris, and here as well.
 *
 * Source: the names are those of Solaris' <sys/param.h>; btop(9F) and ptob(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PARAM_H
#define _BLKSCOPE_SOLARIS_SYS_PARAM_H

#pragma GCC system_header /* for include_next, and repeated types */

#include_next <sys/param.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#define FSHIFT 8
#define FSCALE (1 << FSHIFT)

#define MAXNAMELEN 256       /* bytes of a file's name, the NUL included */
#define MAXLINKNAMELEN 32    /* bytes of a network interface's name, the NUL included */
#define TYPICALMAXPATHLEN 64 /* bytes of most paths; MAXPATHLEN of all */
#define MAXUID 2147483647    /* the largest number of a user */
#define MAXPROJID MAXUID     /* and of a project */

#ifndef NODEV
#define NODEV ((dev_t)-1) /* no device */
#endif

/* Blocks of a disk: DEV_BSIZE bytes, and the power of two that these are. */
#ifndef DEV_BSIZE
#define DEV_BSIZE 512
#endif
#ifndef DEV_BSHIFT
#define DEV_BSHIFT 9
#endif
#define UBSIZE 512                       /* the same by an older name */
#define NBPSCTR 512                      /* bytes of a sector */
#define SCTRSHFT 9                       /* the power of two that these are */
#define MAXOFFSET_T 0x7fffffffffffffffLL /* the largest offset in a file */
#define MAXOFF_T MAXOFFSET_T

/* Bytes to blocks, rounded down, and blocks to bytes. The forms with l are for 64 bits everywhere. */
#ifndef btodb
#define btodb(bytes) ((unsigned long)(bytes) >> DEV_BSHIFT)
#define dbtob(blocks) ((unsigned long)(blocks) << DEV_BSHIFT)
#endif
#define lbtodb(bytes) ((unsigned long long)(bytes) >> DEV_BSHIFT)
#define ldbtob(blocks) ((unsigned long long)(blocks) << DEV_BSHIFT)

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
#define PAGEOFFSET (PAGESIZE - 1) /* the bits of an address within its page */
#define PAGEMASK (~PAGEOFFSET)    /* the other bits */
#define ptod(pages) ((pages) << (PAGESHIFT - DEV_BSHIFT)) /* pages to blocks of a disk */
#define kbtop(kib) ((kib) >> (PAGESHIFT - 10))            /* KiB to pages, and back */
#define ptokb(pages) ((pages) << (PAGESHIFT - 10))

#endif
