/*
 * The locks of a driver under an older name of the header: kmutex_t and kcondvar_t. Here
 * <sys/ksynch.h> has the locks, and libkstat_provider has their functions.
 *
 * Source: mutex(9F), condvar(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_T_LOCK_H
#define _BLKSCOPE_SOLARIS_SYS_T_LOCK_H

#include <sys/ksynch.h>
#include <sys/param.h>

#endif
