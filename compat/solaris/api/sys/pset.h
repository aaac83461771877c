/*
 * Sets of processors, which Linux does not have: no set exists, and no processor is in one.
 *
 * A monitor that shows sets therefore shows one line for all processors.
 *
 * Source: pset_assign(2), pset_list(2).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PSET_H
#define _BLKSCOPE_SOLARIS_SYS_PSET_H

#pragma GCC system_header /* C++: casts of C */

#include <errno.h>
#include <sys/processor.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int psetid_t; /* the number of a set */

#define PS_NONE -1  /* no set */
#define PS_QUERY -2 /* an argument: changes nothing */
#define PS_MYID -3  /* the set of the caller */

/*
 * The set of a processor: *old becomes PS_NONE. The set must be PS_QUERY or PS_NONE.
 * Errors: -1. EINVAL: no such processor or set.
 */
static __inline__ int pset_assign(psetid_t set, processorid_t processor, psetid_t *old) {
    if (p_online(processor, P_STATUS) == -1) return -1;
    if (set != PS_QUERY && set != PS_NONE) {
        errno = EINVAL;
        return -1;
    }
    if (old != NULL) *old = PS_NONE;
    return 0;
}

/*
 * The sets: none. *count becomes 0. A macro, because programs pass the address of a uint_t or of a
 * size_t.
 */
#define pset_list(sets, count) ((void)(sets), *(count) = 0, 0)

#ifdef __cplusplus
}
#endif

#endif
