/*
 * The four histograms of kstat2_create_histogram(9F), in C.
 *
 *     cc -std=gnu99 histograms.c -lkstat_provider -o histograms
 *     ./histograms < /dev/null
 *
 * Counts the smallest and the largest value of every bucket. Then prints each histogram's table
 * from the published pairs. The type, range and stepping say where each bucket begins.
 * A count other than 2 would be a value in the wrong bucket. Without /dev/null it publishes on
 * until its standard input ends.
 *
 * The calls are the manual's, with its misprints corrected. The flags are an argument of their own,
 * here 0. A metatype's name begins with KSTAT2_NVMT_, and that of events is KSTAT2_NVMT_CNT.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/kstat2.h>

#define NPSEG(pseg) ((uint32_t)(sizeof(pseg) / sizeof((pseg)[0])))

/* At most 10 buckets, 128 bytes wide. */
static kstat2_t* create_linear(void) {
    const char* pseg[4] = {"misc", "my_drv", "1", "data_in"};

    return (kstat2_create_histogram(pseg, NPSEG(pseg), ALL_ZONES, KSTAT2_NVHIST_LINEAR,
                                    KSTAT2_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, NULL, 0, 0, 1024, 128,
                                    0, "data read by my_drv", KSTAT2_MF_NONE));
}

/* 65 buckets, by powers of 2. */
static kstat2_t* create_log2(void) {
    const char* pseg[4] = {"misc", "my_drv", "data_in", "2"};

    return (kstat2_create_histogram(pseg, NPSEG(pseg), ALL_ZONES, KSTAT2_NVHIST_LOG2,
                                    KSTAT2_NVMT_BYTES, 1, KSTAT2_NVMF_NONE, NULL, 0, 0, 0, 0, 0,
                                    "data read by my_drv", KSTAT2_MF_NONE));
}

/* 21 buckets, by powers of 10; the values are microseconds. */
static kstat2_t* create_log10(void) {
    const char* pseg[4] = {"misc", "my_drv", "data_in", "3"};

    return (kstat2_create_histogram(pseg, NPSEG(pseg), ALL_ZONES, KSTAT2_NVHIST_LOG10,
                                    KSTAT2_NVMT_T_REL, 1000000, KSTAT2_NVMF_FRACT, NULL, 0, 0, 0, 0,
                                    0, "data read by my_drv", KSTAT2_MF_NONE));
}

/* 5 steps in each decade from 10^2 to 10^4. */
static kstat2_t* create_log10_linear(void) {
    const char* pseg[4] = {"misc", "my_drv", "data_in", "4"};

    return (kstat2_create_histogram(pseg, NPSEG(pseg), ALL_ZONES, KSTAT2_NVHIST_LOG10_LIN,
                                    KSTAT2_NVMT_CNT, 1, KSTAT2_NVMF_NONE, NULL, 0, 2, 4, 5, 0,
                                    "data read by my_drv", KSTAT2_MF_NONE));
}

/* ---- What a histogram publishes. ---- */

enum { BUCKETS, TYPE, RANGE_MIN, RANGE_MAX, STEPPING };

static uint64_t number(const kstat2_t* ksp, int pair) {
    return (KSTAT2_NAMED_PTR(ksp)[pair].value.integer);
}

static uint64_t power_of_10(uint64_t exponent) {
    uint64_t power = 1;

    while (exponent-- > 0) power *= 10;
    return (power);
}

/* The number of buckets that the published numbers make. */
static uint32_t bucket_count(const kstat2_t* ksp) {
    const uint64_t range = number(ksp, RANGE_MAX) - number(ksp, RANGE_MIN);
    const uint64_t steps = number(ksp, STEPPING);

    switch (number(ksp, TYPE)) {
        case KSTAT2_NVHIST_LINEAR:
            return ((uint32_t)(2 + range / steps));
        case KSTAT2_NVHIST_LOG10_LIN:
            return ((uint32_t)(2 + (range + 1) * (steps - steps / 10)));
        default:
            return (KSTAT2_NAMED_PTR(ksp)[BUCKETS].value.integers.length);
    }
}

/* Where a decade's steps begin: at the multiples of their width, and at the power of ten itself. */
static uint64_t decade_lower(const kstat2_t* ksp, uint64_t steps) {
    const uint64_t in_decade = number(ksp, STEPPING) - number(ksp, STEPPING) / 10;
    const uint64_t exponent = number(ksp, RANGE_MIN) + steps / in_decade;
    const uint64_t start = power_of_10(exponent);
    const uint64_t width = start * 10 / number(ksp, STEPPING);

    if (steps % in_decade == 0) return (start);
    return ((start / width + steps % in_decade) * width);
}

/* The smallest value of a bucket. */
static uint64_t lower(const kstat2_t* ksp, uint32_t bucket) {
    const uint64_t first = number(ksp, RANGE_MIN);

    if (bucket == 0) return (0);
    switch (number(ksp, TYPE)) {
        case KSTAT2_NVHIST_LINEAR: /* from 0, the first bucket is for 0 alone */
            if (bucket == 1) return (first == 0 ? 1 : first);
            return (first + (bucket - 1) * number(ksp, STEPPING));
        case KSTAT2_NVHIST_LOG2:
            return ((uint64_t)1 << (bucket - 1));
        case KSTAT2_NVHIST_LOG10:
            return (power_of_10(bucket - 1));
        default:
            return (decade_lower(ksp, bucket - 1));
    }
}

static uint64_t upper(const kstat2_t* ksp, uint32_t bucket) {
    return (bucket + 1 == bucket_count(ksp) ? UINT64_MAX : lower(ksp, bucket + 1) - 1);
}

/* ---- The program. ---- */

static void add_values(kstat2_t* ksp) {
    const uint32_t count = bucket_count(ksp);
    uint32_t i;

    for (i = 0; i < count; i++) {
        kstat2_hist_add_value(ksp, lower(ksp, i));
        kstat2_hist_add_value(ksp, upper(ksp, i));
    }
}

static void print_row(const kstat2_t* ksp, uint32_t bucket) {
    const uint64_t low = lower(ksp, bucket);
    const uint64_t high = upper(ksp, bucket);
    const uint64_t times = KSTAT2_NAMED_PTR(ksp)[BUCKETS].value.integers.array[bucket];

    (void)printf("%6" PRIu32 "  %20" PRIu64, bucket, low);
    if (low == high) {
        (void)printf("%23s", "");
    } else {
        (void)printf(" - %20" PRIu64, high);
    }
    (void)printf("  %" PRIu64 "\n", times);
}

/* Returns 0 if every bucket holds the two values that were counted into it. */
static int print_table(const kstat2_t* ksp) {
    const kstat2_named_t* buckets = &KSTAT2_NAMED_PTR(ksp)[BUCKETS];
    uint32_t i;
    int wrong = buckets->value.integers.length != bucket_count(ksp);

    (void)printf("kstat:%s\n", ksp->ks2_path);
    for (i = 0; i < buckets->value.integers.length; i++) {
        print_row(ksp, i);
        wrong |= buckets->value.integers.array[i] != 2;
    }
    return (wrong);
}

int main(void) {
    kstat2_t* const histograms[] = {create_linear(), create_log2(), create_log10(),
                                    create_log10_linear()};
    size_t i;
    int wrong = 0;

    for (i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++) {
        if (histograms[i] == NULL) return (1);
        kstat2_install(histograms[i]);
        add_values(histograms[i]);
        wrong |= print_table(histograms[i]);
    }
    (void)fflush(stdout);
    while (getchar() != EOF) continue;
    for (i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++) kstat2_delete(histograms[i]);
    return (wrong);
}
