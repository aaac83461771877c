/* The headers as strict C99 sees them, each first. */
#include <kstat.h>
#include <sys/kstat.h>
#include <sys/ksynch.h>
#include <sys/mutex.h>

static hrtime_t a_time;
static zoneid_t a_zone = ALL_ZONES;

int c99_sees_the_types(void) {
    kstat_t ks = {0};
    ks.ks_data = &a_time;
    return KSTAT_IO_PTR(&ks) != NULL && a_zone == -1;
}

/* Solaris has gethrtime() in <sys/time.h>, whatever the standard. */
hrtime_t c99_reads_the_clock(void) { return gethrtime(); }
