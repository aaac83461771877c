/*
 * The states of a process, as Solaris' monitors name them. Linux' own are the letters of
 * /proc/PID/stat, for which each line has its letter.
 *
 * Source: the names and the numbers are those of Solaris' <sys/proc.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PROC_H
#define _BLKSCOPE_SOLARIS_SYS_PROC_H

#include <sys/buf.h>
#include <sys/param.h>
#include <sys/procset.h>
#include <sys/resource.h>
#include <sys/types.h>

#define SSLEEP 1  /* waits: S or D */
#define SRUN 2    /* may run: R */
#define SZOMB 3   /* has ended, and its parent has not asked yet: Z */
#define SSTOP 4   /* is stopped: T or t */
#define SIDL 5    /* is being made; Linux shows no such process */
#define SONPROC 6 /* runs; Linux has R for this state, too */
#define SWAIT 7   /* waits for its share of a processor; Linux has none */

#endif
