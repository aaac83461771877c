/*
 * How long a function takes: stats(3) for something that is no disk.
 *
 * Sorts arrays of random sizes and measures each sort with a template of two variables, the size and
 * the time. Prints what was measured, as text or, with -j, as JSON.
 *
 *     cc latency.c $(pkg-config --cflags --libs libstats)
 *     ./a.out [-j] [SORTS]
 */
#include <blkscope/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sbuf.h>
#include <time.h>

enum { VOI_SIZE, VOI_TIME };

static int make_template(void) {
    struct voistatspec size[] = {STATS_VSS_MAX(), STATS_VSS_CRHIST32_LIN(0, 10000, 2500, 0)};
    struct voistatspec ns[] = {STATS_VSS_SUM(), STATS_VSS_MIN(), STATS_VSS_MAX(),
                               STATS_VSS_CRHIST64_LINEXP(1000, 10000000, 2, 10, VSD_HIST_LBOUND_INF),
                               STATS_VSS_TDGSTCLUST64(50, 16)};
    const int tpl = stats_tpl_alloc("qsort", 0);
    if (tpl < 0 ||
        stats_tpl_add_voistats((uint32_t)tpl, VOI_SIZE, "elements", VSD_DTYPE_INT_U32, NVSS(size), size, 0) != 0 ||
        stats_tpl_add_voistats((uint32_t)tpl, VOI_TIME, "nanoseconds", VSD_DTYPE_INT_U64, NVSS(ns), ns, 0) != 0)
        return -1;
    return tpl;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const int x = *(const int *)a;
    const int y = *(const int *)b;
    return (x > y) - (x < y);
}

static void measure(struct statsblob *sb) {
    static int values[10000];
    const uint32_t count = 1 + (uint32_t)rand() % 10000;
    uint64_t start;
    uint32_t i;
    for (i = 0; i < count; ++i) values[i] = rand();
    start = now_ns();
    qsort(values, count, sizeof values[0], compare);
    stats_voi_update_abs_u64(sb, VOI_TIME, now_ns() - start);
    stats_voi_update_abs_u32(sb, VOI_SIZE, count);
}

static int print(struct statsblob *sb, enum sb_str_fmt fmt) {
    struct sbuf *text = sbuf_new_auto();
    int failed;
    if (text == NULL) return 1;
    failed = stats_blob_tostr(sb, text, fmt, SB_TOSTR_META) != 0 || sbuf_finish(text) != 0;
    if (!failed) puts(sbuf_data(text));
    sbuf_delete(text);
    return failed;
}

int main(int argc, char **argv) {
    const int json = argc > 1 && strcmp(argv[1], "-j") == 0;
    int left = argc > 1 + json ? atoi(argv[1 + json]) : 1000;
    double median;
    double slow;
    struct statsblob *sb;
    const int tpl = make_template();
    if (tpl < 0 || (sb = stats_blob_alloc((uint32_t)tpl, 0)) == NULL) {
        fputs("latency: cannot make the template and its blob\n", stderr);
        return 1;
    }
    for (; left > 0; --left) measure(sb);
    if (print(sb, json ? SB_STRFMT_JSON : SB_STRFMT_FREEFORM) != 0) return 1;
    if (!json && stats_voi_quantile(sb, VOI_TIME, 0.5, &median) == 0 &&
        stats_voi_quantile(sb, VOI_TIME, 0.99, &slow) == 0)
        printf("median %.0f ns, 99%% below %.0f ns\n", median, slow);
    stats_blob_destroy(sb);
    return 0;
}
