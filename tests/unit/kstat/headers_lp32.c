/* Sources that rely on 32-bit longs are compiled with -U_LP64. */
#include <kstat.h>

_Static_assert(KSTAT_DATA_LONG == KSTAT_DATA_INT32, "the guard is _LP64");
_Static_assert(KSTAT_DATA_ULONG == KSTAT_DATA_UINT32, "the guard is _LP64");

int lp32_sees_the_types(void) { return KSTAT_DATA_LONG; }
