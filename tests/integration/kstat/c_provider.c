/*
 * A driver's statistics as written for Solaris: an IO kstat with a lock, a NAMED one with an update
 * routine. Prints "ready" and publishes until its standard input ends.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/kstat.h>
#include <sys/mutex.h>

static struct {
    kstat_named_t opens;
    kstat_named_t vendor;
} stats = {{"opens", KSTAT_DATA_ULONG, {{0}}}, {"vendor", KSTAT_DATA_STRING, {{0}}}};

static ulong_t opens = 3;

static int stats_update(kstat_t *ksp, int rw) {
    (void)ksp;
    if (rw == KSTAT_WRITE) return (EACCES);
    stats.opens.value.ul = ++opens;
    return (0);
}

int main(void) {
    kmutex_t lock;
    kstat_t *disk;
    kstat_t *named;

    mutex_init(&lock, "lock", MUTEX_DRIVER, NULL);
    disk = kstat_create("fd", 0, NULL, "disk", KSTAT_TYPE_IO, 1, KSTAT_FLAG_PERSISTENT);
    named = kstat_create("fd", 0, "fdstats", "misc", KSTAT_TYPE_NAMED,
                         sizeof(stats) / sizeof(kstat_named_t), KSTAT_FLAG_VIRTUAL);
    if (disk == NULL || named == NULL) return (1);
    disk->ks_lock = &lock;
    kstat_install(disk);
    kstat_named_setstr(&stats.vendor, "ACME");
    named->ks_data = &stats;
    named->ks_data_size = sizeof(stats) + KSTAT_NAMED_STR_BUFLEN(&stats.vendor);
    named->ks_update = stats_update;
    kstat_install(named);

    mutex_enter(&lock);
    kstat_waitq_enter(KSTAT_IO_PTR(disk));
    kstat_waitq_to_runq(KSTAT_IO_PTR(disk));
    kstat_runq_exit(KSTAT_IO_PTR(disk));
    KSTAT_IO_PTR(disk)->nread += 512;
    KSTAT_IO_PTR(disk)->reads++;
    mutex_exit(&lock);

    (void)puts("ready");
    (void)fflush(stdout);
    (void)getchar();
    kstat_delete(disk);
    kstat_delete(named);
    mutex_destroy(&lock);
    return (0);
}
