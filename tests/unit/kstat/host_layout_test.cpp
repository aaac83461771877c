// Solaris' headers of the RAW kstats, and the host's own structs: the same words in the same order.
#include <gtest/gtest.h>
#include <sys/dnlc.h>
#include <sys/sysinfo.h>
#include <sys/var.h>

#include <cstddef>

#include "kstat/host/cpu_stat_fields.hpp"
#include "kstat/host/raw_structs.hpp"

namespace blkscope::kstat::host {
namespace {

#define EXPECT_SAME_PLACE(ours, theirs, field) \
    EXPECT_EQ(offsetof(ours, field), offsetof(theirs, field))

TEST(HostLayout, SysinfoIsThatOfSolaris) {
    EXPECT_EQ(sizeof(Sysinfo), sizeof(sysinfo_t));
    EXPECT_SAME_PLACE(Sysinfo, sysinfo_t, updates);
    EXPECT_SAME_PLACE(Sysinfo, sysinfo_t, runque);
    EXPECT_SAME_PLACE(Sysinfo, sysinfo_t, runocc);
    EXPECT_SAME_PLACE(Sysinfo, sysinfo_t, swpque);
    EXPECT_SAME_PLACE(Sysinfo, sysinfo_t, swpocc);
    EXPECT_SAME_PLACE(Sysinfo, sysinfo_t, waiting);
}

TEST(HostLayout, VminfoIsThatOfSolaris) {
    EXPECT_EQ(sizeof(Vminfo), sizeof(vminfo_t));
    EXPECT_SAME_PLACE(Vminfo, vminfo_t, freemem);
    EXPECT_SAME_PLACE(Vminfo, vminfo_t, swap_resv);
    EXPECT_SAME_PLACE(Vminfo, vminfo_t, swap_alloc);
    EXPECT_SAME_PLACE(Vminfo, vminfo_t, swap_avail);
    EXPECT_SAME_PLACE(Vminfo, vminfo_t, swap_free);
    EXPECT_SAME_PLACE(Vminfo, vminfo_t, updates);
}

TEST(HostLayout, VarIsThatOfSolaris) {
    EXPECT_EQ(sizeof(Var), sizeof(struct ::var));
    EXPECT_SAME_PLACE(Var, struct ::var, v_buf);
    EXPECT_SAME_PLACE(Var, struct ::var, v_call);
    EXPECT_SAME_PLACE(Var, struct ::var, v_proc);
    EXPECT_SAME_PLACE(Var, struct ::var, v_maxupttl);
    EXPECT_SAME_PLACE(Var, struct ::var, v_nglobpris);
    EXPECT_SAME_PLACE(Var, struct ::var, v_maxsyspri);
    EXPECT_SAME_PLACE(Var, struct ::var, v_clist);
    EXPECT_SAME_PLACE(Var, struct ::var, v_maxup);
    EXPECT_SAME_PLACE(Var, struct ::var, v_hbuf);
    EXPECT_SAME_PLACE(Var, struct ::var, v_hmask);
    EXPECT_SAME_PLACE(Var, struct ::var, v_pbuf);
    EXPECT_SAME_PLACE(Var, struct ::var, v_sptmap);
    EXPECT_SAME_PLACE(Var, struct ::var, v_maxpmem);
    EXPECT_SAME_PLACE(Var, struct ::var, v_autoup);
    EXPECT_SAME_PLACE(Var, struct ::var, v_bufhwm);
}

TEST(HostLayout, NcstatsIsThatOfSolaris) {
    EXPECT_EQ(sizeof(Ncstats), sizeof(struct ::ncstats));
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, hits);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, misses);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, enters);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, dbl_enters);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, long_enter);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, long_look);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, move_to_front);
    EXPECT_SAME_PLACE(Ncstats, struct ::ncstats, purges);
}

TEST(HostLayout, CpuStatIsThatOfSolaris) {
    EXPECT_EQ(cpu_stat_words * sizeof(uint32_t), sizeof(cpu_stat_t));
}

// Each field of our lists is the next word of Solaris' struct.
TEST(HostLayout, TheFieldsOfACpuStatAreThoseOfSolaris) {
    size_t word = 2;  // behind the lock
#define COUNTED(field, counter) ZERO(field)
#define ZERO(field) EXPECT_EQ(begin + offsetof(Part, field), sizeof(uint32_t) * word++) << #field;
#define COUNT(field) ++word;
#define COUNT_COUNTED(field, counter) ++word;
    {
        using Part = cpu_sysinfo_t;
        const size_t begin = offsetof(cpu_stat_t, cpu_sysinfo);
        EXPECT_EQ(begin + offsetof(Part, cpu), sizeof(uint32_t) * word);
        EXPECT_EQ(begin + offsetof(Part, wait), sizeof(uint32_t) * (word + CPU_STATES));
        CPU_STAT_TICKS(COUNT_COUNTED, COUNT)
        CPU_STAT_WORK(COUNTED, ZERO)
        CPU_STAT_OVERFLOWS(COUNTED, ZERO)
        CPU_STAT_INTERRUPTS(COUNTED, ZERO)
        CPU_STAT_THREADS(COUNTED, ZERO)
        CPU_STAT_WINDOWS(COUNTED, ZERO)
    }
    {
        using Part = cpu_syswait_t;
        const size_t begin = offsetof(cpu_stat_t, cpu_syswait);
        CPU_STAT_WAITS(COUNTED, ZERO)
    }
    {
        using Part = cpu_vminfo_t;
        const size_t begin = offsetof(cpu_stat_t, cpu_vminfo);
        CPU_STAT_PAGING(COUNTED, ZERO)
    }
    EXPECT_EQ(word, cpu_stat_words);
}

}  // namespace
}  // namespace blkscope::kstat::host
