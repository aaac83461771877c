/*
 * A provider of one kstat of every kind, as a Solaris programmer would write it. Says "ready" and
 * publishes until its standard input ends.
 */
#include <stdio.h>
#include <sys/kstat2.h>

static kstat2_named_t pairs[5];
static uint64_t loads[3] = {10, 20, 30};
static kstat2_named_str_t colours[2] = {{"red", 4}, {"green", 6}};

static const kstat2_md_t meanings[5] = {
    {KSTAT2_NVMT_CNT, KSTAT2_NVMF_NONE, 1, "events seen", -1},
    {KSTAT2_NVMT_CNT, KSTAT2_NVMF_NONE, 1, "load averages", -1},
    {KSTAT2_NVMT_UNK, KSTAT2_NVMF_NONE, 1, "what it is called", -1},
    {KSTAT2_NVMT_UNK, KSTAT2_NVMF_NONE, 1, "its colours", -1},
    {KSTAT2_NVMT_TEMP_C, KSTAT2_NVMF_NONE, 1, "a sensor that is off", -1},
};

static void publish_everything(void) {
    const char *path[] = {"misc", "c_provider2", "all"};
    kstat2_t *ksp;
    kstat2_nv_init(&pairs[0], "events", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[1], "loads", KSTAT2_NVVT_INTS, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[2], "label", KSTAT2_NVVT_STR, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[3], "colours", KSTAT2_NVVT_STRS, KSTAT2_NVF_NONE);
    kstat2_nv_init(&pairs[4], "sensor", KSTAT2_NVVT_INT, KSTAT2_NVF_INVAL);
    pairs[0].value.integer = 42;
    kstat2_nv_setints(&pairs[1], loads, 3);
    kstat2_nv_setstr(&pairs[2], "one\ttwo");
    kstat2_nv_setstrs(&pairs[3], colours, 2);
    pairs[4].value.integer = 99;
    ksp = kstat2_create(path, 3, ALL_ZONES, pairs, 5, 0, meanings, "one of each type",
                        KSTAT2_MF_STABLE);
    if (ksp != NULL) kstat2_install(ksp);
}

static void publish_device(void) {
    const char *path[] = {"disk", "c_provider2", "dev0", "0"};
    kstat2_t *ksp =
        kstat2_create_with_template(path, 4, ALL_ZONES, kstat2_lookup_template(KSTAT2_MT_IO), 0,
                                    NULL, "a device", KSTAT2_MF_NONE);
    if (ksp == NULL) return;
    KSTAT2_IO_READS(KSTAT2_IO_PTR(ksp)) = 7;
    KSTAT2_IO_NREAD(KSTAT2_IO_PTR(ksp)) = 3584;
    kstat2_install(ksp);
}

static void publish_latencies(void) {
    const char *path[] = {"disk", "c_provider2", "dev0", "0", "latency"};
    int i;
    kstat2_t *ksp = kstat2_create_histogram(path, 5, ALL_ZONES, KSTAT2_NVHIST_LOG2,
                                            KSTAT2_NVMT_T_ACC, 1000000000, KSTAT2_NVMF_FRACT, NULL,
                                            0, 0, 0, 0, 0, "service times", KSTAT2_MF_NONE);
    if (ksp == NULL) return;
    for (i = 0; i < 3; i++) kstat2_hist_add_value(ksp, 5000);
    kstat2_hist_add_value(ksp, 20000);
    kstat2_install(ksp);
}

static void publish_secret(void) {
    const char *path[] = {"misc", "c_provider2", "secret"};
    kstat2_t *ksp = kstat2_create(path, 3, ALL_ZONES, NULL, 1, 0, NULL, "not for everybody",
                                  KSTAT2_MF_PRIV);
    if (ksp == NULL) return;
    kstat2_nv_init(&KSTAT2_NAMED_PTR(ksp)[0], "number", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_install(ksp);
}

/* Made and deleted again: what is left of it is dormant. */
static void publish_dormant(void) {
    const char *path[] = {"misc", "c_provider2", "sleeper"};
    kstat2_t *ksp = kstat2_create(path, 3, ALL_ZONES, NULL, 1, KSTAT2_FLAG_PERSISTENT, NULL,
                                  "was here", KSTAT2_MF_NONE);
    if (ksp == NULL) return;
    kstat2_nv_init(&KSTAT2_NAMED_PTR(ksp)[0], "number", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    KSTAT2_NAMED_PTR(ksp)[0].value.integer = 5;
    kstat2_install(ksp);
    kstat2_delete(ksp);
}

static kstat2_t *optional;

static int switch_optional(kstat2_opt_id_t id, int enable, void *arg) {
    const char *path[] = {"misc", "c_provider2", "optional"};
    (void)id;
    (void)arg;
    if (!enable) {
        kstat2_delete(optional);
        optional = NULL;
        return 0;
    }
    optional = kstat2_create(path, 3, ALL_ZONES, NULL, 1, 0, NULL, "on demand", KSTAT2_MF_NONE);
    if (optional == NULL) return 12;
    kstat2_nv_init(&KSTAT2_NAMED_PTR(optional)[0], "number", KSTAT2_NVVT_INT, KSTAT2_NVF_NONE);
    kstat2_install(optional);
    return 0;
}

int main(void) {
    publish_everything();
    publish_device();
    publish_latencies();
    publish_secret();
    publish_dormant();
    if (kstat2_register_optional("c_provider2:extra", "costs something", switch_optional, NULL) ==
        KSTAT2_OPT_INVALID) {
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
