// The structs of the host's RAW kstats, word for word as in Solaris' <sys/sysinfo.h>, <sys/var.h>
// and <sys/dnlc.h>. The structs are defined here, because those headers would hide headers of the C
// library. A test compares the layouts (tests/unit/kstat/host_layout_test.cpp).
//
// Units:  32-bit counts that wrap; pages. docs/host-kstats.md lists the ones that Linux counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blkscope::kstat::host {

/// cpu_stat:N:cpu_statN is a cpu_stat_t of this many 32-bit words.
inline constexpr size_t cpu_stat_words = 95;

/// unix:0:sysinfo. Sums: each second adds the present amounts.
struct Sysinfo {
    uint32_t updates;  // number of added seconds
    uint32_t runque;
    uint32_t runocc;
    uint32_t swpque;
    uint32_t swpocc;
    uint32_t waiting;
};

/// unix:0:vminfo. The same, in 64 bits.
struct Vminfo {
    uint64_t freemem;
    uint64_t swap_resv;
    uint64_t swap_alloc;
    uint64_t swap_avail;
    uint64_t swap_free;
    uint64_t updates;  // number of added seconds
};

/// unix:0:var
struct Var {
    int32_t v_buf, v_call;
    int32_t v_proc;  // limit of processes and threads
    int32_t v_maxupttl, v_nglobpris, v_maxsyspri, v_clist;
    int32_t v_maxup;  // the same for one user
    int32_t v_hbuf, v_hmask, v_pbuf, v_sptmap, v_maxpmem;
    int32_t v_autoup;  // the age in seconds at which dirty pages are written
    int32_t v_bufhwm;
};

/// unix:0:ncstats
struct Ncstats {
    int32_t hits, misses, enters, dbl_enters, long_enter, long_look, move_to_front, purges;
};

}  // namespace blkscope::kstat::host
