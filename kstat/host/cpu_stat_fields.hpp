// The fields of a cpu_stat_t, the data of cpu_stat:N:cpu_statN; and the counters that Linux has for
// them. cpu:N:sys and cpu:N:vm have most of the fields as named records.
//
//     cpu_stat_t  lock ticks | work overflows interrupts          threads windows | waits | paging
//     cpu:N:sys   ticks, ... | work           interrupts intrunpin threads        | iowait
//     cpu:N:vm                                                                            paging
//
// Each list takes two macros of its user:
//
//     COUNTED(field, counter)   Linux counts this field; `counter` is a member of CpuStats::Sys, or
//                               of CpuStats::Vm in the list of paging (kstat/host/cpu_stats.cpp)
//     ZERO(field)               Linux does not count this field, so its value is 0
//
// The C header of these fields is <sys/sysinfo.h> in compat/solaris, for foreign programs. A test
// compares that header with these lists (tests/unit/kstat/host_layout_test.cpp).
//
// Units:  32-bit words in a cpu_stat_t, 64-bit records elsewhere. docs/host-kstats.md has the units
//         and the sources of the numbers.
// Source: the names and the order are those of Solaris' <sys/sysinfo.h>.
#pragma once

// clang-format off

/// Ticks by state, and ticks of waiting by reason: the arrays cpu[] and wait[].
#define CPU_STAT_TICKS(COUNTED, ZERO)                                                             \
    COUNTED(idle, idle_ticks) COUNTED(user, user_ticks) COUNTED(kernel, kernel_ticks) ZERO(wait)  \
    ZERO(wait_io) ZERO(wait_swap) ZERO(wait_pio)

/// Transfers, switches, interrupts, system calls, terminals, messages and name lookups.
#define CPU_STAT_WORK(COUNTED, ZERO)                                                              \
    ZERO(bread) ZERO(bwrite) ZERO(lread) ZERO(lwrite) ZERO(phread) ZERO(phwrite)                  \
    COUNTED(pswitch, switches) ZERO(trap) COUNTED(intr, interrupts)                               \
    ZERO(syscall) ZERO(sysread) ZERO(syswrite) COUNTED(sysfork, tasks_made) ZERO(sysvfork)        \
    ZERO(sysexec) ZERO(readch) ZERO(writech) ZERO(rcvint) ZERO(xmtint) ZERO(mdmint)               \
    COUNTED(rawch, tty_in) ZERO(canch) COUNTED(outch, tty_out)                                    \
    ZERO(msg) ZERO(sema) ZERO(namei) ZERO(ufsiget) ZERO(ufsdirblk) ZERO(ufsipage) ZERO(ufsinopage)

/// Overflows of tables that Linux does not have.
#define CPU_STAT_OVERFLOWS(COUNTED, ZERO) ZERO(inodeovf) ZERO(fileovf)

#define CPU_STAT_INTERRUPTS(COUNTED, ZERO) ZERO(procovf) ZERO(intrthread) ZERO(intrblk)

/// Threads, locks and modules.
#define CPU_STAT_THREADS(COUNTED, ZERO)                                                           \
    COUNTED(idlethread, went_idle) ZERO(inv_swtch) COUNTED(nthreads, tasks_made)                  \
    ZERO(cpumigrate) COUNTED(xcalls, calls) ZERO(mutex_adenters) ZERO(rw_rdfails)                 \
    ZERO(rw_wrfails) ZERO(modload) ZERO(modunload) ZERO(bawrite)

/// Fields that Solaris does not count either: the kstat command does not show them.
#define CPU_STAT_WINDOWS(COUNTED, ZERO)                                                           \
    ZERO(rw_enters) ZERO(win_uo_cnt) ZERO(win_uu_cnt) ZERO(win_so_cnt) ZERO(win_su_cnt)           \
    ZERO(win_suo_cnt)

/// Processes that wait now: signed, cpu_syswait_t.
#define CPU_STAT_WAITS(COUNTED, ZERO) COUNTED(iowait, blocked) ZERO(swap) ZERO(physio)

/// Paging: cpu_vminfo_t.
#define CPU_STAT_PAGING(COUNTED, ZERO)                                                            \
    ZERO(pgrec) ZERO(pgfrec) COUNTED(pgin, page_ins) COUNTED(pgpgin, pages_in) ZERO(pgout)        \
    COUNTED(pgpgout, pages_out) ZERO(swapin) COUNTED(pgswapin, swap_in) ZERO(swapout)             \
    COUNTED(pgswapout, swap_out) ZERO(zfod) COUNTED(dfree, stolen) COUNTED(scan, scanned)         \
    ZERO(rev) ZERO(hat_fault) COUNTED(as_fault, minor_faults) COUNTED(maj_fault, major_faults)    \
    ZERO(cow_fault) ZERO(prot_fault) ZERO(softlock) ZERO(kernel_asflt)                            \
    COUNTED(pgrrun, daemon_runs) ZERO(execpgin) ZERO(execpgout) ZERO(execfree)                    \
    COUNTED(anonpgin, swap_in) COUNTED(anonpgout, swap_out) COUNTED(anonfree, anon_stolen)        \
    COUNTED(fspgin, fs_in) COUNTED(fspgout, fs_out) COUNTED(fsfree, fs_stolen)

// clang-format on
