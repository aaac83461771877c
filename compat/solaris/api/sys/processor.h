/*
 * The type of a processor's number, and its state. The record `state` of the kstat
 * cpu_info:N:cpu_infoN has the state as a text.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H
#define _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H

#pragma GCC system_header /* C++: casts of C */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of processors that may exist: a bound for sysconf(3) in loops over their numbers. */
#ifndef _SC_CPUID_MAX
#define _SC_CPUID_MAX _SC_NPROCESSORS_CONF
#endif

/*
 * The states of a processor, as numbers, and the flags of p_online(). The texts of the same states
 * are below.
 */
#define P_OFFLINE 0x0001    /* runs no threads */
#define P_ONLINE 0x0002     /* runs threads and takes interrupts */
#define P_STATUS 0x0003     /* a flag: changes nothing */
#define P_FAULTED 0x0004    /* switched off after an error */
#define P_POWEROFF 0x0005   /* without power */
#define P_NOINTR 0x0006     /* runs threads and takes no interrupts */
#define P_SPARE 0x0007      /* kept for the failure of another */
#define P_BAD P_FAULTED     /* the same by an older name */
#define P_FORCED 0x10000000 /* a flag: threads that are bound to the processor do not matter */

#define PS_OFFLINE "off-line"     /* runs no threads */
#define PS_ONLINE "on-line"       /* runs threads and takes interrupts */
#define PS_FAULTED "faulted"      /* switched off after an error */
#define PS_POWEROFF "powered-off" /* without power */
#define PS_NOINTR "no-intr"       /* runs threads and takes no interrupts */
#define PS_SPARE "spare"          /* kept for the failure of another */

/* Whether the list of processors in the file, as in "0-3,8", has this one; -1: no such file. */
static inline int _blkscope_lists_processor(const char *path, processorid_t processor) {
    char list[4096] = "";
    char *at = list;
    FILE *const file = fopen(path, "re");
    if (file == NULL) return -1;
    if (fgets(list, sizeof list, file) == NULL) list[0] = '\0';
    fclose(file);
    while (*at >= '0' && *at <= '9') {
        const long first = strtol(at, &at, 10);
        const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;
        if (first <= processor && processor <= last) return 1;
        if (*at == ',') ++at;
    }
    return 0;
}

/*
 * The state of a processor: P_ONLINE. The flag must be P_STATUS, because a program cannot change the
 * state here. A processor that is off line has no kstats on Linux, so it counts as absent.
 * Errors: -1. EINVAL: no such processor. EPERM: another flag.
 * Source: p_online(2).
 */
static inline int p_online(processorid_t processor, int flag) {
    const int listed = _blkscope_lists_processor("/sys/devices/system/cpu/online", processor);
    const int counted = processor >= 0 && processor < sysconf(_SC_NPROCESSORS_ONLN);
    if (listed == 0 || (listed == -1 && !counted)) {
        errno = EINVAL;
        return -1;
    }
    if (flag == P_STATUS) return P_ONLINE;
    errno = EPERM;
    return -1;
}

#ifdef __cplusplus
}
#endif

#endif
