/*
 * sysctl(3) of FreeBSD, for the names that monitors ask for. Link -lkvm.
 *
 *     kern.devstat.numdevs, .version          int
 *     kern.devstat.generation                 long
 *     kern.devstat.all                        a long, the generation, and then struct devstats
 *     kern.disks                              text: the disks, with a blank between them
 *     kern.cp_time                            long [CPUSTATES], in ticks of kern.clockrate's stathz
 *     kern.cp_times                           as many of those as there are processors
 *     kern.clockrate                          struct clockinfo
 *     kern.boottime                           struct timeval
 *     kern.tty_nin, kern.tty_nout             long, characters
 *     kern.ostype, .osrelease, .version, .hostname   text: what uname(2) says
 *     kern.osreldate                          int, __FreeBSD_version
 *     kern.smp.cpus, .maxcpus, hw.ncpu        int
 *     kern.smp.active, kern.hz, .maxproc, .pid_max, .lastpid, .maxfiles, .openfiles   int
 *     kern.stats.templates                    text: the templates of stats(3) in this process,
 *                                             "name":hash,...
 *     hw.machine, hw.machine_arch, hw.model   text
 *     hw.physmem, hw.realmem, hw.usermem      unsigned long, bytes: all, all, and what is free
 *     hw.pagesize                             int, bytes
 *     vm.loadavg                              struct loadavg
 *     vm.stats.vm.v_page_size, .v_page_count  unsigned int
 *     vm.stats.vm.v_free_count, .v_active_count, .v_inactive_count, .v_wire_count, .v_cache_count,
 *         .v_laundry_count                    unsigned int, pages
 *     vm.stats.vm.v_vm_faults, .v_swappgsin, .v_swappgsout, .v_vnodepgsin, .v_vnodepgsout, .v_forks
 *                                             uint64_t, since the start
 *     vm.stats.sys.v_swtch, .v_intr, .v_soft  uint64_t, since the start
 *     vm.swap_total, vfs.bufspace             uint64_t and long, bytes
 *     vm.vmtotal                              struct vmtotal, see <sys/vmmeter.h>
 *
 * v_free_count to v_laundry_count together count every page. Pages of Linux' kernel and locked pages
 * count as wired; v_cache_count and v_laundry_count are 0. The vnode pages are all pages that disks
 * moved. A buffer of 4 bytes gets the lower 32 bits of a count since the start. A number that Linux
 * does not count, such as v_syscall, has no name here.
 *
 * Texts end in a NUL, which counts. The table is fixed: there is no SYSCTL_PROC(9). A program calls
 * a handler with a struct sysctl_req of its own.
 *
 * Threads: any.
 * Errors:  -1, with errno set. ENOENT: any other name, or a number that /proc lacks. ENOMEM: oldp is
 *          too small, and has the first part. EPERM: a new value was given. EBUSY: the devices
 *          changed during the call. EIO: /proc lacks the times of processors or the load.
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_SYSCTL_H
#define _BLKSCOPE_FREEBSD_SYS_SYSCTL_H

#include <blkscope/sysctl_req.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of names that have one; the rest get theirs from sysctlnametomib. */
#define CTL_MAXNAME 24 /* the most numbers of a name */
#define CTL_KERN 1     /* kern. */
#define CTL_VM 2       /* vm. */
#define CTL_VFS 3      /* vfs. */
#define CTL_NET 4      /* net.: no name here */
#define CTL_DEBUG 5    /* debug.: no name here */
#define CTL_HW 6       /* hw. */

#define KERN_OSTYPE 1
#define KERN_OSRELEASE 2
#define KERN_VERSION 4
#define KERN_MAXPROC 6
#define KERN_MAXFILES 7
#define KERN_HOSTNAME 10
#define KERN_CLOCKRATE 12
#define KERN_BOOTTIME 21
#define KERN_OSRELDATE 24

/* Processes, which programs read from /proc here: ENOENT. */
#define KERN_PROC 14
#define KERN_PROC_ALL 0
#define KERN_PROC_PID 1
#define KERN_PROC_ARGS 7
#define KERN_PROC_PROC 8
#define KERN_PROC_PATHNAME 12
#define KERN_PROC_ENV 35

#define VM_TOTAL 1
#define VM_LOADAVG 2

#define HW_MACHINE 1
#define HW_MODEL 2
#define HW_NCPU 3
#define HW_PHYSMEM 5
#define HW_USERMEM 6
#define HW_PAGESIZE 7
#define HW_MACHINE_ARCH 11
#define HW_REALMEM 12

/*
 * Reads a value. If oldp is NULL, the call sets *oldlenp to the needed bytes. Otherwise *oldlenp is
 * the room at oldp before the call, and the bytes written after the call.
 */
int sysctl(const int *name, unsigned int namelen, void *oldp, size_t *oldlenp, const void *newp,
           size_t newlen);
int sysctlbyname(const char *name, void *oldp, size_t *oldlenp, const void *newp, size_t newlen);

/* The numbers of a name: at most *sizep of them, which becomes how many they are. */
int sysctlnametomib(const char *name, int *mibp, size_t *sizep);

#ifdef __cplusplus
}
#endif

#endif
