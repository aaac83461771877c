/*
 * The use of memory that has no file, which swapctl() of <sys/swap.h> fills in with SC_AINFO.
 *
 * Source: swapctl(2).
 */
#ifndef _BLKSCOPE_SOLARIS_VM_ANON_H
#define _BLKSCOPE_SOLARIS_VM_ANON_H

#include <sys/param.h>
#include <sys/types.h>

/*
 * Memory that has no file, in pages, of the disks and of the main memory. The figures are those of the
 * kstat unix:0:vminfo: what is left, ani_max less ani_resv, is its swap_avail.
 */
struct anoninfo {
    pgcnt_t ani_max;  /* as much as can be promised */
    pgcnt_t ani_free; /* ani_max less the pages of the areas that hold data */
    pgcnt_t ani_resv; /* promised to programs: Committed_AS of /proc/meminfo */
};

#endif
