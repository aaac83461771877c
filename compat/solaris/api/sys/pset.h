/*
 * Sets of processors, which Linux does not have: no set exists, and no processor is in one.
 *
 * A monitor that shows sets therefore shows one line for all processors.
 *
 *     processorid_t processors[256];
 *     uint_t count = 256;
 *     if (pset_info(PS_MYID, NULL, &count, processors) == 0) ... count processors ...
 *
 * A processor that is off line is absent, as in <sys/processor.h>. The processors of a cpuset(7) are
 * no set: a program in a container sees all processors of the machine.
 *
 * Threads: any.
 * Source:  pset_assign(2), pset_info(2), pset_list(2), pset_getloadavg(3C).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PSET_H
#define _BLKSCOPE_SOLARIS_SYS_PSET_H

#pragma GCC system_header /* C++: casts of C */

#include <errno.h>
#include <sys/loadavg.h>
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

/*
 * The type of a set, beside PS_NONE. The system makes sets of the first type, and a program makes
 * those of the second type. Linux has sets of neither type.
 */
#define PS_SYSTEM 1
#define PS_PRIVATE 2

/* Whether the set is that of all processors, the only one here; else errno is EINVAL. */
static __inline__ int _blkscope_is_whole(psetid_t set) {
    if (set == PS_NONE || set == PS_MYID) return 1;
    errno = EINVAL;
    return 0;
}

/*
 * The processors that are in no set, which are all. *type becomes PS_NONE and *count their number.
 * Before the call, *count is the room in `processors`. Each pointer may be NULL.
 * Errors: -1. EINVAL: no such set. The set must be PS_NONE or PS_MYID.
 */
static __inline__ int pset_info(psetid_t set, int *type, uint_t *count, processorid_t *processors) {
    const long end = sysconf(_SC_NPROCESSORS_CONF);
    processorid_t at;
    uint_t found = 0;
    if (!_blkscope_is_whole(set)) return -1;
    if (type != NULL) *type = PS_NONE;
    if (count == NULL) return 0;
    for (at = 0; at < end; ++at) {
        if (p_online(at, P_STATUS) == -1) continue;
        if (processors != NULL && found < *count) processors[found] = at;
        ++found;
    }
    *count = found;
    return 0;
}

/*
 * The load of all processors: at most `count` means, as getloadavg() has them.
 * Errors: -1. EINVAL: no such set. The set must be PS_NONE or PS_MYID.
 */
static __inline__ int pset_getloadavg(psetid_t set, double means[], int count) {
    return _blkscope_is_whole(set) ? getloadavg(means, count) : -1;
}

#ifdef __cplusplus
}
#endif

#endif
