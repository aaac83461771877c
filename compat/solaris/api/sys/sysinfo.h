/*
 * The RAW kstats of the processors and of the memory: cpu_stat:N:cpu_statN is a cpu_stat_t,
 * unix:0:sysinfo a sysinfo_t, unix:0:vminfo a vminfo_t. An addition to Linux' own <sys/sysinfo.h>.
 *
 * Units:  counts since boot, 32 bits, which wrap. cpu[] and wait[] count clock ticks, and memory is
 *         counted in pages. docs/host-kstats.md lists the fields that Linux counts.
 * Source: the names and the order are those of Solaris' <sys/sysinfo.h>. Programs that read these
 *         kstats therefore compile. sysinfo_t has no tag, because Linux has a struct sysinfo.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SYSINFO_H
#define _BLKSCOPE_SOLARIS_SYS_SYSINFO_H

#pragma GCC system_header /* for include_next, and repeated types */

#include <sys/kstat.h>
#include_next <sys/sysinfo.h>
#include <sys/t_lock.h> /* and <sys/param.h> with it: MAXNAMELEN */

#ifdef __cplusplus
extern "C" {
#endif

/* The index of cpu_sysinfo_t.cpu[]: the state of a processor. */
#define CPU_IDLE 0   /* nothing to do */
#define CPU_USER 1   /* programs */
#define CPU_KERNEL 2 /* the kernel */
#define CPU_WAIT 3   /* idle while a thread waits for a disk */
#define CPU_STATES 4 /* the number of states */

/* The index of cpu_sysinfo_t.wait[]: the reason of CPU_WAIT. */
#define W_IO 0     /* the file system or the page cache */
#define W_SWAP 1   /* swapping */
#define W_PIO 2    /* a device without the page cache */
#define W_STATES 3 /* the number of reasons */

/* The activity of one processor. */
typedef struct cpu_sysinfo {
    uint_t cpu[CPU_STATES]; /* ticks by state */
    uint_t wait[W_STATES];  /* ticks of waiting by reason */
    uint_t bread, bwrite, lread, lwrite, phread, phwrite;
    uint_t pswitch, trap, intr;
    uint_t syscall, sysread, syswrite, sysfork, sysvfork, sysexec;
    uint_t readch, writech, rcvint, xmtint, mdmint, rawch, canch, outch;
    uint_t msg, sema, namei, ufsiget, ufsdirblk, ufsipage, ufsinopage;
    uint_t inodeovf, fileovf, procovf;
    uint_t intrthread, intrblk, idlethread, inv_swtch, nthreads, cpumigrate, xcalls;
    uint_t mutex_adenters, rw_rdfails, rw_wrfails, modload, modunload, bawrite;
    uint_t rw_enters, win_uo_cnt, win_uu_cnt, win_so_cnt, win_su_cnt, win_suo_cnt;
} cpu_sysinfo_t;

/* Processes that wait on one processor now. */
typedef struct cpu_syswait {
    int iowait, swap, physio;
} cpu_syswait_t;

/* The paging activity of one processor. */
typedef struct cpu_vminfo {
    uint_t pgrec, pgfrec, pgin, pgpgin, pgout, pgpgout;
    uint_t swapin, pgswapin, swapout, pgswapout;
    uint_t zfod, dfree, scan, rev;
    uint_t hat_fault, as_fault, maj_fault, cow_fault, prot_fault, softlock, kernel_asflt, pgrrun;
    uint_t execpgin, execpgout, execfree;
    uint_t anonpgin, anonpgout, anonfree;
    uint_t fspgin, fspgout, fsfree;
} cpu_vminfo_t;

/* All of one processor: the data of cpu_stat:N:cpu_statN. */
typedef struct cpu_stat {
    uint_t __cpu_stat_lock[2]; /* no meaning here; gives the other fields their offsets */
    cpu_sysinfo_t cpu_sysinfo;
    cpu_syswait_t cpu_syswait;
    cpu_vminfo_t cpu_vminfo;
} cpu_stat_t;

/* Sums over time: each second adds the present values. A rate is a difference over `updates`. */
typedef struct {
    uint_t updates; /* seconds that were added */
    uint_t runque, runocc, swpque, swpocc, waiting;
} sysinfo_t;

/* Sums over time as above, in pages and 64 bits. */
typedef struct vminfo {
    uint64_t freemem, swap_resv, swap_alloc, swap_avail, swap_free;
    uint64_t updates; /* seconds that were added */
} vminfo_t;

#ifdef __cplusplus
}
#endif

#endif
