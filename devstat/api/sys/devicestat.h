/*
 * Device statistics as FreeBSD has them: one struct devstat per device.
 *
 * Source compatible with FreeBSD's <sys/devicestat.h>, version 6: same names, same values, same
 * offsets on a 64-bit machine. Written anew, after devstat(3) and devstat(9). FreeBSD shows the
 * functions at the end to its kernel only; here a program calls them to publish its own devices,
 * and links libkstat_provider.
 *
 * A transaction is what a client asked of a device, from its arrival to its answer; waiting in the
 * device's own queue is part of it.
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

/* frac counts units of 2^-64 s. */
#ifndef _BLKSCOPE_BINTIME
#define _BLKSCOPE_BINTIME
struct bintime {
    time_t sec;
    uint64_t frac;
};
#endif

#define DEVSTAT_VERSION 6 /* of struct devstat; a reader and its provider must agree on it */
#define DEVSTAT_NAME_LEN 16
#define DEVSTAT_DEVICE_NAME "devstat"

/* What a transaction was: the index of bytes, operations and duration. */
typedef enum {
    DEVSTAT_NO_DATA = 0, /* a flush, a question; "other" */
    DEVSTAT_READ = 1,
    DEVSTAT_WRITE = 2,
    DEVSTAT_FREE = 3 /* a trim */
} devstat_trans_flags;
#define DEVSTAT_N_TRANS_FLAGS 4

/* How a transaction was queued: the index of tag_types, but for NONE, which is not counted. */
typedef enum {
    DEVSTAT_TAG_SIMPLE = 0,
    DEVSTAT_TAG_HEAD = 1,
    DEVSTAT_TAG_ORDERED = 2,
    DEVSTAT_TAG_NONE = 3
} devstat_tag_type;

/* What the device's entry does not tell. */
typedef enum {
    DEVSTAT_ALL_SUPPORTED = 0x00,
    DEVSTAT_NO_BLOCKSIZE = 0x01,
    DEVSTAT_NO_ORDERED_TAGS = 0x02, /* no tags at all, in fact */
    DEVSTAT_BS_UNAVAILABLE = 0x04   /* it has a block size, unknown for now */
} devstat_support_flags;

/* Where in the list a device stands: the highest first. */
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

/* What a device is: one of the first group, one interface, and PASS for a pass-through device. */
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
    DEVSTAT_TYPE_IF_MASK = 0x0f0,
    DEVSTAT_TYPE_PASS = 0x100
} devstat_type_flags;

struct devstat {
    unsigned int sequence0; /* updates that have ended; see devstat_end_transaction */
    int allocated;          /* not 0 in an entry that is in use */
    unsigned int start_count;
    unsigned int end_count;
    struct bintime busy_from;           /* what busy_time does not count yet begins here */
    STAILQ_ENTRY(devstat) dev_links;    /* nothing to readers */
    uint32_t device_number;             /* ascending in order of creation, never used again */
    char device_name[DEVSTAT_NAME_LEN]; /* without the unit */
    int unit_number;                    /* -1: an entry without a name, see id */
    uint64_t bytes[DEVSTAT_N_TRANS_FLAGS];
    uint64_t operations[DEVSTAT_N_TRANS_FLAGS];     /* that have ended */
    struct bintime duration[DEVSTAT_N_TRANS_FLAGS]; /* of all of them together */
    struct bintime busy_time;                       /* with a transaction in flight */
    struct bintime creation_time;
    uint32_t block_size; /* bytes, 0: unknown */
    uint64_t tag_types[DEVSTAT_TAG_ORDERED + 1];
    devstat_support_flags flags;
    devstat_type_flags device_type;
    devstat_priority priority;
    const void *id;         /* whose entry it is, where it has no name */
    unsigned int sequence1; /* updates that have begun */
};

/* ---- For providers: link libkstat_provider. ---- */

struct bio; /* <sys/bio.h> */

/*
 * Makes an entry and publishes it: readers find it as long as the process lives. The name is cut to
 * 15 characters. A unit of -1 makes one without a name, which the list of devices leaves out;
 * dev_name is then not text, but the pointer that becomes its id.
 * NULL, with a line on standard error that says why, if it cannot be published.
 * Ownership: the framework's, until devstat_remove_entry. Threads: any.
 */
struct devstat *devstat_new_entry(const void *dev_name, int unit_number, uint32_t block_size,
                                  devstat_support_flags flags, devstat_type_flags device_type,
                                  devstat_priority priority);

/* Takes it from the readers' sight and frees it. No transaction of it may be under way. */
void devstat_remove_entry(struct devstat *ds);

/*
 * A transaction begins, and ends: one end for each start. `now` is CLOCK_MONOTONIC; NULL reads the
 * clock. `then` is when the transaction began, and NULL counts no duration. bytes are those really
 * moved, of a failed one too; more than 4 GiB go in several. All accept a NULL ds, and do nothing.
 * Threads: ends are the caller's to serialise, for each entry; starts may come from several
 * threads. Readers never stall either: they compare sequence0, read first, with sequence1, read
 * last, and copy again where they differ.
 */
void devstat_start_transaction(struct devstat *ds, const struct bintime *now);
void devstat_end_transaction(struct devstat *ds, uint32_t bytes, devstat_tag_type tag_type,
                             devstat_trans_flags flags, const struct bintime *now,
                             const struct bintime *then);

/*
 * The same from a bio. _bio stamps its bio_t0, _bio_t0 takes the stamp that is there. At the end
 * the kind is that of bio_cmd, the bytes are bio_bcount less bio_resid.
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
