/* An addition to Linux' own <sys/types.h>: the types of Solaris that readers of kstats use. */
#ifndef _BLKSCOPE_SOLARIS_SYS_TYPES_H
#define _BLKSCOPE_SOLARIS_SYS_TYPES_H

#pragma GCC system_header /* for include_next, and repeated types */

#include <sys/kstat.h> /* uint_t, hrtime_t; <sys/kstat.h> may include this header */
#include_next <sys/types.h>

typedef enum { B_FALSE, B_TRUE } boolean_t;
typedef int processorid_t;     /* the number of a processor, from 0 */
typedef int chipid_t;          /* the number of a socket */
typedef unsigned long pgcnt_t; /* pages */
typedef long long offset_t;    /* bytes */
typedef long long diskaddr_t;  /* blocks of a disk */
typedef unsigned long major_t;
typedef unsigned long minor_t;

#endif
