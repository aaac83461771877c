/*
 * Device statistics as FreeBSD has them: one struct devstat per device.
 *
 * Source compatible with FreeBSD's <sys/devicestat.h>, version 6: same names, same values, same
 * offsets on a 64-bit machine. Written anew, after devstat(3) and devstat(9). On FreeBSD the
 * functions at the end exist in the kernel only. Here a program calls the functions to publish its
 * own devices, and links libkstat_provider.
 *
 * A transaction is one request of a client to a device, from its arrival to its answer. The time in
 * the device's own queue is part of the transaction.
 *
 *     start_count   1    2         3
 *     end_count               1         2    3
 *     in flight     1    2    1    2    1    0        start_count - end_count
 *     ----------+----+----+----+----+----+----+----> time
 *               |<------ busy_time ----->|            a transaction is in flight
 *
 * Units:   bytes; times are CLOCK_MONOTONIC as struct bintime. start_count and end_count have 32
 *          bits and wrap; their difference, of 32 bits too, is what is in flight.
 * Threads: see the functions. A reader gets copies of its own from <devstat.h>.
 */
#ifndef _SYS_DEVICESTAT_H
#define _SYS_DEVICESTAT_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A time: sec seconds and frac units of 2^-64 s. */
#ifndef _BLKSCOPE_BINTIME
#define _BLKSCOPE_BINTIME
struct bintime {
    time_t sec;
    uint64_t frac;
};
#endif

#define DEVSTAT_VERSION 6   /* of struct devstat; a reader and its provider must have the same */
#define DEVSTAT_NAME_LEN 16 /* bytes, the NUL included */
#define DEVSTAT_DEVICE_NAME "devstat" /* of FreeBSD's /dev/devstat, for source that names it */

/* The kind of a transaction: the index of bytes, operations and duration. */
typedef enum {
    DEVSTAT_NO_DATA = 0, /* a flush, a question; "other" */
    DEVSTAT_READ = 1,    /* data from the device */
    DEVSTAT_WRITE = 2,   /* data to the device */
    DEVSTAT_FREE = 3     /* a trim */
} devstat_trans_flags;
#define DEVSTAT_N_TRANS_FLAGS 4

/* The order of a transaction in its queue: the index of tag_types. NONE is not counted. */
typedef enum {
    DEVSTAT_TAG_SIMPLE = 0,  /* in any order */
    DEVSTAT_TAG_HEAD = 1,    /* before all others */
    DEVSTAT_TAG_ORDERED = 2, /* after all earlier ones, before all later ones */
    DEVSTAT_TAG_NONE = 3     /* the device has no tags */
} devstat_tag_type;

/* The fields that a device's entry does not have, a set. */
typedef enum {
    DEVSTAT_ALL_SUPPORTED = 0x00,
    DEVSTAT_NO_BLOCKSIZE = 0x01,    /* the device has no block size */
    DEVSTAT_NO_ORDERED_TAGS = 0x02, /* the device has no tags at all */
    DEVSTAT_BS_UNAVAILABLE = 0x04   /* the device has a block size, unknown at present */
} devstat_support_flags;

/* The place of a device in the list: the highest number comes first. */
typedef enum {
    DEVSTAT_PRIORITY_MIN = 0x000,
    DEVSTAT_PRIORITY_OTHER = 0x020,
    DEVSTAT_PRIORITY_PASS = 0x030,
    DEVSTAT_PRIORITY_FD = 0x040,
    DEVSTAT_PRIORITY_WFD = 0x050,
    DEVSTAT_PRIORITY_TAPE = 0x060,
    DEVSTAT_PRIORITY_CD = 0x090,
    DEVSTAT_PRIORITY_DISK = 0x110,
    DEVSTAT_PRIORITY_ARRAY = 0x120,
    DEVSTAT_PRIORITY_MAX = 0xfff
} devstat_priority;

/*
 * The kind of a device: one of the first group, plus one interface, plus PASS for a pass-through
 * device. The groups are those of SCSI peripheral types.
 */
typedef enum {
    DEVSTAT_TYPE_DIRECT = 0x000,
    DEVSTAT_TYPE_SEQUENTIAL = 0x001,
    DEVSTAT_TYPE_PRINTER = 0x002,
    DEVSTAT_TYPE_PROCESSOR = 0x003,
    DEVSTAT_TYPE_WORM = 0x004,
    DEVSTAT_TYPE_CDROM = 0x005,
    DEVSTAT_TYPE_SCANNER = 0x006,
    DEVSTAT_TYPE_OPTICAL = 0x007,
    DEVSTAT_TYPE_CHANGER = 0x008,
    DEVSTAT_TYPE_COMM = 0x009,
    DEVSTAT_TYPE_ASC0 = 0x00a,
    DEVSTAT_TYPE_ASC1 = 0x00b,
    DEVSTAT_TYPE_STORARRAY = 0x00c,
    DEVSTAT_TYPE_ENCLOSURE = 0x00d,
    DEVSTAT_TYPE_FLOPPY = 0x00e,
    DEVSTAT_TYPE_MASK = 0x00f,
    DEVSTAT_TYPE_IF_SCSI = 0x010,
    DEVSTAT_TYPE_IF_IDE = 0x020,
    DEVSTAT_TYPE_IF_OTHER = 0x030,
    DEVSTAT_TYPE_IF_NVME = 0x040,
    DEVSTAT_TYPE_IF_MASK = 0x0f0,
    DEVSTAT_TYPE_PASS = 0x100
} devstat_type_flags;

/*
 * The statistics of one device. All counts start at 0 at creation and only grow.
 *
 * A reader checks a copy: sequence0, read first, and sequence1, read last, must be the same.
 */
struct devstat {
    unsigned int sequence0;             /* updates that have ended; see devstat_end_transaction */
    int allocated;                      /* not 0 in an entry that is in use */
    unsigned int start_count;           /* transactions that have begun; wraps */
    unsigned int end_count;             /* transactions that have ended; wraps */
    struct bintime busy_from;           /* start of the time that busy_time does not count yet */
    STAILQ_ENTRY(devstat) dev_links;    /* no meaning for readers */
    uint32_t device_number;             /* ascending in order of creation, never used again */
    char device_name[DEVSTAT_NAME_LEN]; /* without the unit */
    int unit_number;                    /* -1: an entry without a name, see id */
    uint64_t bytes[DEVSTAT_N_TRANS_FLAGS];          /* bytes really moved */
    uint64_t operations[DEVSTAT_N_TRANS_FLAGS];     /* transactions that have ended */
    struct bintime duration[DEVSTAT_N_TRANS_FLAGS]; /* the sum of their durations */
    struct bintime busy_time;                       /* time with a transaction in flight */
    struct bintime creation_time;                   /* of this entry */
    uint32_t block_size;                            /* bytes, 0: unknown */
    uint64_t tag_types[DEVSTAT_TAG_ORDERED + 1];    /* transactions by their order */
    devstat_support_flags flags;
    devstat_type_flags device_type;
    devstat_priority priority;
    const void *id;         /* dev_name of an entry without a name */
    unsigned int sequence1; /* updates that have begun */
};

/* The head of a list by dev_links, for source that keeps one. */
STAILQ_HEAD(devstatlist, devstat);

/* ---- For providers: link libkstat_provider. ---- */

struct bio; /* <sys/bio.h> */

/*
 * Makes an entry and publishes the entry. Readers find the entry until devstat_remove_entry or the
 * end of the process. The name is cut to 15 characters. A unit of -1 makes an entry without a name,
 * which the list of devices does not show. dev_name is then not text: the pointer becomes the id.
 *
 * Ownership: the entry belongs to the framework until devstat_remove_entry.
 * Threads:   any.
 * Errors:    NULL if publication fails, with one line on standard error that gives the reason.
 * Source:    devstat(9).
 */
struct devstat *devstat_new_entry(const void *dev_name, int unit_number, uint32_t block_size,
                                  devstat_support_flags flags, devstat_type_flags device_type,
                                  devstat_priority priority);

/* Removes the entry from the list of readers and frees it. No transaction may be in flight. */
void devstat_remove_entry(struct devstat *ds);

/*
 * Begins a transaction, and ends a transaction. Each start needs one end. A NULL ds does nothing.
 *
 *   - now: CLOCK_MONOTONIC; NULL reads the clock.
 *   - then: the time of the start; NULL counts no duration.
 *   - bytes: bytes really moved, those of a failed transaction too. A caller reports more than
 *     4 GiB in several transactions.
 *
 * Threads: several threads may start transactions of one entry at a time. The caller serialises the
 *          ends of one entry. Readers never delay either: a reader copies again if sequence0 and
 *          sequence1 differ.
 * Source:  devstat(9).
 */
void devstat_start_transaction(struct devstat *ds, const struct bintime *now);
void devstat_end_transaction(struct devstat *ds, uint32_t bytes, devstat_tag_type tag_type,
                             devstat_trans_flags flags, const struct bintime *now,
                             const struct bintime *then);

/*
 * The same functions for a bio. devstat_start_transaction_bio sets bio_t0 to now. The _bio_t0 form
 * uses the bio_t0 that the caller has set. At the end, bio_cmd gives the kind, and bio_bcount minus
 * bio_resid gives the bytes.
 */
void devstat_start_transaction_bio(struct devstat *ds, struct bio *bp);
void devstat_start_transaction_bio_t0(struct devstat *ds, struct bio *bp);
void devstat_end_transaction_bio(struct devstat *ds, const struct bio *bp);
void devstat_end_transaction_bio_bt(struct devstat *ds, const struct bio *bp,
                                    const struct bintime *now);

#ifdef __cplusplus
}
#endif

#endif
