/*
 * Solaris' tree of devices, from which its monitors take other names for a kstat's: c0t0d0 for sd0. Linux
 * has no such tree. Each function says so, and a monitor goes on with the kstats' own names.
 *
 * Threads: any.
 * Source:  di_init(3DEVINFO), di_prop_lookup_strings(3DEVINFO); functions for /dev links that Solaris'
 *          own monitors use.
 */
#ifndef _BLKSCOPE_SOLARIS_LIBDEVINFO_H
#define _BLKSCOPE_SOLARIS_LIBDEVINFO_H

#pragma GCC system_header /* C++: casts of C */

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/sunddi.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct di_node *di_node_t; /* a device of a snapshot */
typedef struct di_dim *di_dim_t;   /* a table of /dev links */

#define DI_NODE_NIL NULL /* no device */

/* Arguments of di_init(): what the snapshot is to have. */
#define DINFOSUBTREE 0x01 /* the devices below */
#define DINFOMINOR 0x02   /* their numbers */
#define DINFOPROP 0x04    /* their properties */
#define DINFOPATH 0x08    /* their paths to multipath devices */
#define DINFOCACHE 0x10   /* may be an older one */
#define DINFOCPYALL (DINFOSUBTREE | DINFOPROP | DINFOMINOR)

#define DDI_DEV_T_ANY ((dev_t)-2) /* a property of the device, whatever its number */

/* Nothing, and errno is ENXIO. */
static __inline__ void *_blkscope_no_tree(void) {
    errno = ENXIO;
    return NULL;
}

/* The snapshot of the tree below `path`: none. */
static __inline__ di_node_t di_init(const char *path, unsigned flags) {
    (void)path, (void)flags;
    return (di_node_t)_blkscope_no_tree();
}
/* Frees a snapshot, of which there is none. */
static __inline__ void di_fini(di_node_t root) {
    (void)root;
}
/* The device of a path in the snapshot: none. */
static __inline__ di_node_t di_lookup_node(di_node_t root, char *path) {
    (void)root, (void)path;
    return (di_node_t)_blkscope_no_tree();
}
/* The table of /dev links: none. */
static __inline__ di_dim_t di_dim_init(void) {
    return (di_dim_t)_blkscope_no_tree();
}
/* Frees a table, of which there is none. */
static __inline__ void di_dim_fini(di_dim_t dim) {
    (void)dim;
}
/* The /dev link of a device, and below its path in the tree: neither. */
static __inline__ char *di_dim_path_dev(di_dim_t dim, char *driver, int instance, char *minor_) {
    (void)dim, (void)driver, (void)instance, (void)minor_;
    return (char *)_blkscope_no_tree();
}
static __inline__ char *di_dim_path_devices(di_dim_t dim, char *driver, int instance,
                                            char *minor_) {
    return di_dim_path_dev(dim, driver, instance, minor_);
}

/* -1, and errno is ENXIO. */
static __inline__ int di_prop_lookup_strings(dev_t device, di_node_t node, const char *name,
                                             char **values) {
    (void)device, (void)node, (void)name, (void)values;
    errno = ENXIO;
    return -1;
}

#ifdef __cplusplus
}
#endif

#endif
