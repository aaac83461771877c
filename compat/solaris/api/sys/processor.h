/*
 * The type of a processor's number, its state, and its description. The kstat
 * cpu_info:N:cpu_infoN has the state as a text, and more of the description.
 *
 * The numbers of processors have gaps where one is off line. A monitor therefore tries all numbers:
 *
 *     for (i = 0; i < sysconf(_SC_CPUID_MAX); i++) {
 *         if (processor_info(i, &info) == -1) continue;                 absent: EINVAL
 *         printf("%d: %s, %d MHz\n", i, info.pi_processor_type, info.pi_clock);
 *     }
 *
 *     which exist     /sys/devices/system/cpu/online, else sysconf(3)
 *     pi_fputypes     /proc/cpuinfo, the line `fpu`
 *     pi_clock        cpufreq's cpuinfo_max_freq, else /proc/cpuinfo, the line `cpu MHz`
 *
 * Ownership: the caller's; no file stays open after a call.
 * Threads:   any. Each call reads the files anew, so a monitor need not call often.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H
#define _BLKSCOPE_SOLARIS_SYS_PROCESSOR_H

#pragma GCC system_header /* C++: casts of C */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procset.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/utsname.h>
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
static __inline__ int _blkscope_lists_processor(const char *path, processorid_t processor) {
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
static __inline__ int p_online(processorid_t processor, int flag) {
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

#define PI_TYPELEN 16 /* bytes of pi_processor_type, the NUL included */
#define PI_FPUTYPE 32 /* bytes of pi_fputypes, the NUL included */

/* The description of a processor. Both texts are those of the kstat cpu_info:N:cpu_infoN. */
typedef struct {
    int pi_state;                       /* P_ONLINE: others are absent */
    char pi_processor_type[PI_TYPELEN]; /* "i386" on x86, else the machine's name; cpu_type */
    char pi_fputypes[PI_FPUTYPE];       /* "i387 compatible" on x86, else ""; fpu_type */
    int pi_clock;                       /* MHz, the highest; 0: unknown; clock_MHz */
} processor_info_t;

/* The text behind `name` in the processor's paragraph of /proc/cpuinfo; "": no such line. */
static __inline__ void _blkscope_cpuinfo(processorid_t processor, const char *name, char text[32]) {
    char line[4096], key[32], value[32];
    int is_here = 0;
    FILE *const file = fopen("/proc/cpuinfo", "re");
    text[0] = '\0';
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%31[^\t:]%*[ \t]: %31[^\n]", key, value) != 2) continue;
        if (strcmp(key, "processor") == 0) is_here = atoi(value) == processor;
        if (is_here && strcmp(key, name) == 0) strcpy(text, value);
    }
    fclose(file);
}

/* The highest clock in MHz, rounded: cpufreq's in kHz, else the one that /proc/cpuinfo has. */
static __inline__ int _blkscope_clock_mhz(processorid_t processor) {
    char text[96], *end;
    long clock = 0;
    FILE *file;
    snprintf(text, sizeof text, "/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq",
             processor);
    file = fopen(text, "re");
    if (file != NULL) {
        if (fscanf(file, "%ld", &clock) != 1) clock = 0;
        fclose(file);
    }
    if (clock > 0) return (int)((clock + 500) / 1000);
    _blkscope_cpuinfo(processor, "cpu MHz", text);
    clock = strtol(text, &end, 10); /* not strtod, which reads the point of the locale */
    return (int)clock + (end[0] == '.' && end[1] >= '5');
}

/*
 * Describes a processor. The sources are those of the kstat, which is a second old at most.
 * Errors: -1. EINVAL: no such processor, or the processor is off line.
 * Source: processor_info(2).
 */
static __inline__ int processor_info(processorid_t processor, processor_info_t *info) {
    struct utsname machine;
    char fpu[32];
    /* The only error. A file that is absent leaves its field empty. */
    info->pi_state = p_online(processor, P_STATUS);
    if (info->pi_state == -1) return -1;
    uname(&machine);
    if (strcmp(machine.machine, "x86_64") == 0 ||
        (machine.machine[0] == 'i' && strcmp(machine.machine + 2, "86") == 0))
        strcpy(machine.machine, "i386");
    snprintf(info->pi_processor_type, PI_TYPELEN, "%.15s", machine.machine);
    _blkscope_cpuinfo(processor, "fpu", fpu);
    strcpy(info->pi_fputypes, strcmp(fpu, "yes") == 0 ? "i387 compatible" : "");
    info->pi_clock = _blkscope_clock_mhz(processor);
    return 0;
}

#define PBIND_NONE -1  /* no processor, or several */
#define PBIND_QUERY -2 /* an argument: changes nothing */

/*
 * The function behind the bindings. <unistd.h> hides the function from strict C. <sched.h> hides its
 * own functions for masks, too.
 */
extern long syscall(long __number, ...) __THROW;

/*
 * Binds one thread as processor_bind() does; 0: the caller. *old is the one processor that the thread
 * might run on before, or PBIND_NONE.
 */
static __inline__ int _blkscope_bind_thread(long thread, processorid_t processor,
                                            processorid_t *old) {
    unsigned char mask[1024] = {0}; /* a bit for each processor */
    const long size = syscall(SYS_sched_getaffinity, thread, sizeof mask, mask);
    int at, count = 0;
    if (size == -1) return -1;
    for (at = 0; at < size * 8; ++at) {
        if ((mask[at / 8] >> at % 8 & 1) == 0) continue;
        *old = at;
        ++count;
    }
    if (count != 1) *old = PBIND_NONE;
    if (processor == PBIND_QUERY) return 0;
    memset(mask, processor == PBIND_NONE ? 0xff : 0, sizeof mask);
    if (processor >= 0) mask[processor / 8] = (unsigned char)(1 << processor % 8);
    return syscall(SYS_sched_setaffinity, thread, sizeof mask, mask) == -1 ? -1 : 0;
}

/*
 * Binds threads to a processor. With P_LWPID, `id` is a thread's number as gettid(2) counts them.
 * With P_PID, `id` is a process, all of whose threads are bound. P_MYID is the caller's own.
 *
 * PBIND_NONE lets the threads run on all processors that their cpuset(7) allows. Linux has masks of
 * processors instead of bindings. A thread is bound if its mask has one processor. On a machine with
 * one processor, each thread therefore is.
 *
 *     processorid_t old;
 *     processor_bind(P_LWPID, P_MYID, 0, &old);             this thread to processor 0
 *     processor_bind(P_PID, pid, PBIND_QUERY, &old);        asks only
 *     processor_bind(P_PID, pid, PBIND_NONE, NULL);         a process to none
 *
 * A thread that begins during the call has the binding of the thread that created the new one.
 *
 * *old, where `old` is not NULL, becomes the binding of one of the threads before the call.
 *
 * Errors: -1. EINVAL: no such processor or type. ESRCH: no such process or thread. EPERM: a process
 *         of another user.
 * Source: processor_bind(2); sched_setaffinity(2) of Linux.
 */
static __inline__ int processor_bind(int type, int id, processorid_t processor,
                                     processorid_t *old) {
    char path[64] = "/proc/self/task";
    processorid_t before = PBIND_NONE;
    struct dirent *entry;
    int result = 0;
    DIR *threads;
    if (processor != PBIND_NONE && processor != PBIND_QUERY) {
        if (p_online(processor, P_STATUS) == -1) return -1;
    }
    if (type == P_LWPID) {
        result = _blkscope_bind_thread(id == P_MYID ? 0 : id, processor, &before);
        if (result == 0 && old != NULL) *old = before;
        return result;
    }
    if (type != P_PID) {
        errno = EINVAL;
        return -1;
    }
    if (id != P_MYID) snprintf(path, sizeof path, "/proc/%d/task", id);
    threads = opendir(path);
    if (threads == NULL) {
        if (errno == ENOENT) errno = ESRCH;
        return -1;
    }
    while ((entry = readdir(threads)) != NULL && result == 0) {
        const long thread = atol(entry->d_name);
        if (thread > 0) result = _blkscope_bind_thread(thread, processor, &before);
        if (result == -1 && errno == ESRCH) result = 0; /* that thread has just ended */
    }
    closedir(threads);
    if (result == 0 && old != NULL) *old = before;
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
