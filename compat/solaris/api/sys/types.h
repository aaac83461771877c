/* Below Linux' own <sys/types.h>: the names that Solaris' has besides, as far as readers use them.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_TYPES_H
#define _BLKSCOPE_SOLARIS_SYS_TYPES_H

#pragma GCC system_header /* for include_next, and types told twice */

#include <sys/kstat.h> /* uint_t, hrtime_t and the like; it may be what includes this */
#include_next <sys/types.h>

typedef enum { B_FALSE, B_TRUE } boolean_t;
typedef int processorid_t;
typedef int chipid_t;
typedef unsigned long pgcnt_t;
typedef long long offset_t;
typedef long long diskaddr_t;
typedef unsigned long major_t;
typedef unsigned long minor_t;

#endif
