/* The headers as strict C99 sees them, each first. */
#include <kstat.h>
#include <sys/kstat.h>
#include <sys/kstat2.h>
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

/* The structs of kstat2 are pairs only, so each is an array. */
int c99_counts_the_pairs(void) {
    static kstat2_io_t io;
    KSTAT2_IO_READS(&io) = 1;
    return (&io.nread)[2].value.integer == 1 && sizeof(io) == 12 * sizeof(kstat2_named_t);
}
