/*
 * Which processes a function is for: the type and the number of an id. The types are those of Linux'
 * waitid(2), such as P_PID, P_PGID and P_ALL.
 *
 *     processor_bind(P_PID, P_MYID, 0, NULL);     all threads of the caller to processor 0
 *
 * P_LWPID is not one of Linux' types. A function of Linux refuses the type as invalid.
 *
 * Source: the names are those of Solaris' <sys/procset.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PROCSET_H
#define _BLKSCOPE_SOLARIS_SYS_PROCSET_H

#pragma GCC system_header /* a header of the C library's own */

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#ifdef __GLIBC__
#include <bits/types/idtype_t.h> /* <sys/wait.h> hides the types from strict C */
#endif

#define P_LWPID 0x100 /* a thread, as gettid(2) counts them; not a type of waitid(2) */
#define P_MYID (-1)               /* the id of the caller */

#endif
