/* The headers as strict C11 sees them, in the other order. */
#include <sys/condvar.h>
#include <sys/mutex.h>
#include <sys/kstat.h>
#include <sys/kstat2.h>
#include <kstat.h>

_Static_assert(KSTAT_DATA_LONG == KSTAT_DATA_INT64, "a long has 64 bits here");
_Static_assert(sizeof(struct kstat) == 184, "LP64 layout");
_Static_assert(KSTAT_IOC_READ == 0x4b02, "the device's request numbers");

int c11_sees_the_types(void) { return sizeof(kstat_ctl_t) == 24; }
