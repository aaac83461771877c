/*
 * libgeom, the part that monitors of devices use: snapshots of all statistics, and a tree of the
 * devices. Names and fields are FreeBSD's, after libgeom(3); written anew.
 *
 *     gmesh
 *       +- class DISK --- geom nbd0 --- provider nbd0       one geom and provider per device
 *       +- class PART --- geom ...  --- provider ...        one provider per partition
 *
 * There are no consumers.
 *
 * Units:     bytes.
 * Ownership: the strings and structs of a tree belong to the tree, until geom_deletetree.
 * Threads:   one at a time.
 * Errors:    -1 or NULL, with errno set, except where a function says otherwise.
 */
#ifndef _BLKSCOPE_FREEBSD_LIBGEOM_H
#define _BLKSCOPE_FREEBSD_LIBGEOM_H

#include <stdint.h>
#include <sys/devicestat.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of the index of a tree. */
struct gident {
    void *lg_id;  /* unique in the tree; an entry of struct devstat has the same id */
    void *lg_ptr; /* a gclass, ggeom, gprovider or gconsumer, as lg_what says */
    enum { ISCLASS, ISGEOM, ISPROVIDER, ISCONSUMER } lg_what;
};

/* A whole tree. */
struct gmesh {
    LIST_HEAD(, gclass) lg_class;
    struct gident *lg_ident; /* the index; an entry without an lg_id ends the array */
};

LIST_HEAD(gconf, gconfig);

/* One attribute of a part of the tree, as text. */
struct gconfig {
    LIST_ENTRY(gconfig) lg_config;
    char *lg_name;
    char *lg_val;
};

/* All geoms of one kind. */
struct gclass {
    void *lg_id;
    char *lg_name;               /* "DISK" or "PART" */
    LIST_ENTRY(gclass) lg_class; /* the next class of the tree */
    LIST_HEAD(, ggeom) lg_geom;  /* its geoms, in the order of devstat(3) */
    struct gconf lg_config;      /* no entries here */
};

/* One device, or one partitioned device. */
struct ggeom {
    void *lg_id;
    struct gclass *lg_class;            /* the class that the geom belongs to */
    char *lg_name;                      /* the device's name, such as nbd0 */
    unsigned int lg_rank;               /* 1: a physical device; 2: a partition */
    LIST_ENTRY(ggeom) lg_geom;          /* the next geom of the class */
    LIST_HEAD(, gconsumer) lg_consumer; /* empty here */
    LIST_HEAD(, gprovider) lg_provider; /* one provider */
    struct gconf lg_config;             /* no entries here */
};

/* FreeBSD's use of a provider by a geom. Trees here have none. */
struct gconsumer {
    void *lg_id;
    struct ggeom *lg_geom;
    LIST_ENTRY(gconsumer) lg_consumer;
    struct gprovider *lg_provider;
    LIST_ENTRY(gconsumer) lg_consumers;
    char *lg_mode;
    struct gconf lg_config;
};

/* A thing that counts: a device or a partition. */
struct gprovider {
    void *lg_id;                         /* the id of its struct devstat */
    char *lg_name;                       /* the device's name, such as nbd0 */
    struct ggeom *lg_geom;               /* the geom that the provider belongs to */
    LIST_ENTRY(gprovider) lg_provider;   /* the next provider of the geom */
    LIST_HEAD(, gconsumer) lg_consumers; /* empty here */
    char *lg_mode;                       /* "r0w0e0": the numbers of users are unknown */
    off_t lg_mediasize;                  /* bytes; 0: unknown */
    unsigned int lg_sectorsize;          /* bytes */
    off_t lg_stripeoffset;               /* bytes; 0 here */
    off_t lg_stripesize;                 /* bytes; 0 here */
    struct gconf lg_config;              /* no entries here */
};

/*
 * Fills in *gmp and returns 0 or an errno. geom_deletetree frees the tree, and no pointer into the
 * tree is valid afterwards. The devices are those of the moment of the call.
 */
int geom_gettree(struct gmesh *gmp);
void geom_deletetree(struct gmesh *gmp);

/* Finds the entry with this id. The id of a struct devstat gives a provider. NULL: not found. */
struct gident *geom_lookupid(struct gmesh *gmp, const void *id);

/*
 * Open before the first snapshot, close after the last. Returns 0 or an errno. EBUSY: the process
 * has opened the statistics, and has not closed them yet. A close without an open does nothing.
 */
int geom_stats_open(void);
void geom_stats_close(void);
void geom_stats_resync(void);

/*
 * A snapshot of the statistics of all devices and partitions, which the caller frees with _free.
 * _next returns the entries in order and NULL at the end. _reset starts again.
 */
void *geom_stats_snapshot_get(void);
void geom_stats_snapshot_free(void *snapshot);
void geom_stats_snapshot_timestamp(void *snapshot, struct timespec *when); /* CLOCK_REALTIME */
void geom_stats_snapshot_reset(void *snapshot);
struct devstat *geom_stats_snapshot_next(void *snapshot);

#ifdef __cplusplus
}
#endif

#endif
