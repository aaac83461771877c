/*
 * An addition to Linux' own <sys/types.h>: the types of Solaris that readers of kstats use.
 *
 * A program that defines one of these types itself, with the same meaning, still compiles.
 *
 * Source: the names and the widths are those of Solaris' <sys/types.h>.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_TYPES_H
#define _BLKSCOPE_SOLARIS_SYS_TYPES_H

#pragma GCC system_header /* for include_next, and repeated types */

#include <stdint.h>
#include <sys/feature_tests.h> /* __NORETURN, which programs expect with any header */
#include <sys/kstat.h>         /* uint_t, hrtime_t; <sys/kstat.h> may include this header */
#include_next <sys/types.h>
#include <time.h>
#ifdef __GLIBC__
#include <bits/types/struct_timespec.h> /* <time.h> hides struct timespec from strict C */
#endif

typedef enum { B_FALSE, B_TRUE } boolean_t;
typedef int processorid_t;     /* the number of a processor, from 0 */
typedef int chipid_t;          /* the number of a socket */
typedef unsigned long pgcnt_t; /* pages */
typedef unsigned long pfn_t;   /* the number of a page */
typedef long long offset_t;    /* bytes */
typedef unsigned long long u_offset_t;
typedef long long diskaddr_t; /* blocks of a disk */
typedef unsigned long major_t;
typedef unsigned long minor_t;

typedef unsigned char unchar;
typedef short index_t;
typedef unsigned short o_mode_t; /* st_mode of old systems */

/* A time of the day or a length of time, in seconds and nanoseconds. */
typedef struct timespec timespec_t;
typedef struct timespec timestruc_t;

/* Numbers of groups of processes and of parts of a machine. Linux has none of these. */
typedef int taskid_t;
typedef int projid_t;           /* a project */
typedef int poolid_t;           /* a pool of processors */
typedef int ctid_t;             /* a contract */
typedef int lgrp_id_t;          /* processors and memory that are near each other */
typedef uint32_t datalink_id_t; /* a network interface */

#include <sys/select.h>
#include <sys/time.h> /* gethrtime() and NANOSEC, which programs expect with this header */

#endif
