/*
 * Results and clocks of drivers. A driver's tables of entry points and its tree of devices do not
 * exist here. A program makes its devices itself (<sys/dditypes.h>), and calls the driver's functions.
 *
 * Threads: any.
 * Source:  ddi_get_lbolt(9F), ddi_get_time(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_SUNDDI_H
#define _BLKSCOPE_SOLARIS_SYS_SUNDDI_H

#include <sys/cmn_err.h>
#include <sys/ddi.h>
#include <sys/dditypes.h>
#include <sys/kmem.h>
#include <sys/kstat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results of functions of a driver. */
#define DDI_SUCCESS 0
#define DDI_FAILURE (-1)

/*
 * Ticks of the kernel's clock since the machine started, by gethrtime(). A second has
 * sysconf(_SC_CLK_TCK) of them. Where long has 32 bits, ddi_get_lbolt() wraps.
 */
static __inline__ int64_t ddi_get_lbolt64(void) {
    return gethrtime() / (1000000000 / sysconf(_SC_CLK_TCK));
}
static __inline__ clock_t ddi_get_lbolt(void) {
    return (clock_t)ddi_get_lbolt64();
}

/* Seconds since 1970, by the clock that time(2) reads. A change of the clock changes the result. */
static __inline__ time_t ddi_get_time(void) {
    return time(NULL);
}

#ifdef __cplusplus
}
#endif

#endif
