/*
 * A device as its driver sees it, and what the driver is asked to do with the device. Solaris' kernel has
 * a tree of these. Here the program that uses a driver's functions makes them:
 *
 *     dev_info_t fd0 = {"fd", 0, NULL};
 *     if (fd_attach(&fd0, DDI_ATTACH) != DDI_SUCCESS) ...
 *
 * Ownership: the program's, as long as the driver is attached. `devi_data` is the driver's.
 * Threads:   as the driver says.
 * Source:    attach(9E), detach(9E), ddi_get_instance(9F), ddi_get_driver_private(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_DDITYPES_H
#define _BLKSCOPE_SOLARIS_SYS_DDITYPES_H

#pragma GCC system_header /* C++: casts of C */

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A device. On Solaris its members are unknown, and drivers use the functions below. */
typedef struct dev_info {
    const char *devi_driver; /* the name of its driver: "fd" */
    int devi_instance;       /* its number among those of the driver */
    void *devi_data;         /* the driver's own */
} dev_info_t;

/* What attach(9E), detach(9E) and getinfo(9E) are called for. */
typedef enum { DDI_ATTACH = 0, DDI_RESUME = 1, DDI_PM_RESUME = 2 } ddi_attach_cmd_t;
typedef enum {
    DDI_DETACH = 0,
    DDI_SUSPEND = 1,
    DDI_PM_SUSPEND = 2,
    DDI_HOTPLUG_DETACH = 3
} ddi_detach_cmd_t;
typedef enum { DDI_INFO_DEVT2DEVINFO = 0, DDI_INFO_DEVT2INSTANCE = 1 } ddi_info_cmd_t;
typedef enum { DDI_RESET_FORCE = 0 } ddi_reset_cmd_t;

/* The number of the device among those of its driver. */
static __inline__ int ddi_get_instance(dev_info_t *dip) {
    return dip->devi_instance;
}
/* The name of its driver. */
static __inline__ const char *ddi_driver_name(dev_info_t *dip) {
    return dip->devi_driver;
}
/* The driver's own of the device, NULL at first. */
static __inline__ void *ddi_get_driver_private(dev_info_t *dip) {
    return dip->devi_data;
}
static __inline__ void ddi_set_driver_private(dev_info_t *dip, void *data) {
    dip->devi_data = data;
}
/* Solaris' kernel prints where the device is. Here it is nowhere. */
static __inline__ void ddi_report_dev(dev_info_t *dip) {
    (void)dip;
}

#ifdef __cplusplus
}
#endif

#endif
