/*
 * libgeom, as much of it as monitors of devices use: snapshots of all statistics, and the tree that
 * gives them names. Names and fields are FreeBSD's, after libgeom(3); written anew.
 *
 * The tree has a class DISK, a geom and a provider for each device, and a class PART with those of the
 * partitions. There are no consumers.
 *
 * Threads: one at a time. Errors: -1 or NULL, with errno, where not said otherwise.
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

struct gident {
    void *lg_id;
    void *lg_ptr; /* to what lg_what says */
    enum { ISCLASS, ISGEOM, ISPROVIDER, ISCONSUMER } lg_what;
};

struct gmesh {
    LIST_HEAD(, gclass) lg_class;
    struct gident *lg_ident; /* all there are, ended by one without an lg_id */
};

LIST_HEAD(gconf, gconfig);

struct gconfig {
    LIST_ENTRY(gconfig) lg_config;
    char *lg_name;
    char *lg_val;
};

struct gclass {
    void *lg_id;
    char *lg_name;
    LIST_ENTRY(gclass) lg_class;
    LIST_HEAD(, ggeom) lg_geom;
    struct gconf lg_config;
};

struct ggeom {
    void *lg_id;
    struct gclass *lg_class;
    char *lg_name;
    unsigned int lg_rank; /* 1: a physical device */
    LIST_ENTRY(ggeom) lg_geom;
    LIST_HEAD(, gconsumer) lg_consumer;
    LIST_HEAD(, gprovider) lg_provider;
    struct gconf lg_config;
};

struct gconsumer {
    void *lg_id;
    struct ggeom *lg_geom;
    LIST_ENTRY(gconsumer) lg_consumer;
    struct gprovider *lg_provider;
    LIST_ENTRY(gconsumer) lg_consumers;
    char *lg_mode;
    struct gconf lg_config;
};

struct gprovider {
    void *lg_id;
    char *lg_name;
    struct ggeom *lg_geom;
    LIST_ENTRY(gprovider) lg_provider;
    LIST_HEAD(, gconsumer) lg_consumers;
    char *lg_mode;
    off_t lg_mediasize;        /* 0: not known */
    unsigned int lg_sectorsize; /* bytes */
    off_t lg_stripeoffset;
    off_t lg_stripesize;
    struct gconf lg_config;
};

/* Fills in *gmp; an errno. geom_deletetree frees what it has allocated. */
int geom_gettree(struct gmesh *gmp);
void geom_deletetree(struct gmesh *gmp);

/* What has this id: that of a struct devstat of a snapshot is a provider's. NULL: nothing has. */
struct gident *geom_lookupid(struct gmesh *gmp, const void *id);

/* To be called before the first snapshot, and after the last. An errno. */
int geom_stats_open(void);
void geom_stats_close(void);
void geom_stats_resync(void);

/* What all devices and partitions count; to be freed. _next gives one after the other, NULL at the
 * end; _reset starts again. */
void *geom_stats_snapshot_get(void);
void geom_stats_snapshot_free(void *snapshot);
void geom_stats_snapshot_timestamp(void *snapshot, struct timespec *when); /* CLOCK_REALTIME */
void geom_stats_snapshot_reset(void *snapshot);
struct devstat *geom_stats_snapshot_next(void *snapshot);

#ifdef __cplusplus
}
#endif

#endif
