// The structs as the 64-bit Solaris headers lay them out: readers and providers of other languages
// rely on the offsets.
#include <gtest/gtest.h>
#include <kstat.h>

#include <cstddef>

extern "C" {
int c99_sees_the_types(void);
int c99_counts_the_pairs(void);
int c11_sees_the_types(void);
int lp32_sees_the_types(void);
hrtime_t c99_reads_the_clock(void);
}

namespace {

static_assert(sizeof(kstat_t) == 184);
static_assert(offsetof(kstat_t, ks_crtime) == 0);
static_assert(offsetof(kstat_t, ks_next) == 8);
static_assert(offsetof(kstat_t, ks_kid) == 16);
static_assert(offsetof(kstat_t, ks_module) == 20);
static_assert(offsetof(kstat_t, ks_resv) == 51);
static_assert(offsetof(kstat_t, ks_instance) == 52);
static_assert(offsetof(kstat_t, ks_name) == 56);
static_assert(offsetof(kstat_t, ks_type) == 87);
static_assert(offsetof(kstat_t, ks_class) == 88);
static_assert(offsetof(kstat_t, ks_flags) == 119);
static_assert(offsetof(kstat_t, ks_data) == 120);
static_assert(offsetof(kstat_t, ks_ndata) == 128);
static_assert(offsetof(kstat_t, ks_data_size) == 136);
static_assert(offsetof(kstat_t, ks_snaptime) == 144);
static_assert(offsetof(kstat_t, ks_update) == 152);
static_assert(offsetof(kstat_t, ks_private) == 160);
static_assert(offsetof(kstat_t, ks_snapshot) == 168);
static_assert(offsetof(kstat_t, ks_lock) == 176);

static_assert(sizeof(kstat_named_t) == 48);
static_assert(offsetof(kstat_named_t, data_type) == 31);
static_assert(offsetof(kstat_named_t, value) == 32);
static_assert(offsetof(kstat_named_t, value.str.len) == 40);
static_assert(sizeof(kstat_intr_t) == 20);
static_assert(sizeof(kstat_io_t) == 80);
static_assert(offsetof(kstat_io_t, reads) == 16);
static_assert(offsetof(kstat_io_t, wtime) == 24);
static_assert(offsetof(kstat_io_t, wlentime) == 32);
static_assert(offsetof(kstat_io_t, rtime) == 48);
static_assert(offsetof(kstat_io_t, rlentime) == 56);
static_assert(offsetof(kstat_io_t, wcnt) == 72);
static_assert(offsetof(kstat_io_t, rcnt) == 76);
static_assert(sizeof(kstat_timer_t) == 80);
static_assert(offsetof(kstat_timer_t, num_events) == 32);
static_assert(offsetof(kstat_timer_t, stop_time) == 72);
static_assert(sizeof(kstat_ctl_t) == 24);
static_assert(offsetof(kstat_ctl_t, kc_chain) == 8);
static_assert(offsetof(kstat_ctl_t, kc_kd) == 16);

static_assert(KSTAT_DATA_LONGLONG == 3 && KSTAT_DATA_ULONGLONG == 4 && KSTAT_DATA_STRING == 9);
static_assert(KSTAT_FLAG_DORMANT == 0x10 && KSTAT_FLAG_INVALID == 0x20);

TEST(KstatHeaders, CompileAsStrictC99AndC11AndWithout64BitLongs) {
    EXPECT_EQ(c99_sees_the_types(), 1);
    EXPECT_EQ(c99_counts_the_pairs(), 1);
    EXPECT_EQ(c11_sees_the_types(), 1);
    EXPECT_EQ(lp32_sees_the_types(), KSTAT_DATA_INT32);
}

TEST(KstatHeaders, HaveGethrtimeInStrictC99Too) {
    const hrtime_t before = gethrtime();
    const hrtime_t between = c99_reads_the_clock();
    EXPECT_LE(before, between);
    EXPECT_LE(between, gethrtime());
}

}  // namespace
