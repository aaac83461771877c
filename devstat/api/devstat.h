/*
 * libdevstat: reading device statistics as FreeBSD's programs do.
 *
 * Source compatible with FreeBSD's <devstat.h>, API version 6; written anew, after devstat(3). The
 * library exports these ten functions and devstat_errbuf, and nothing else.
 *
 * The devices are those of every provider in the run directory. The run directory is $KSTAT_DIR,
 * else /run/kstat for root, else $XDG_RUNTIME_DIR/kstat. Each entry travels as a RAW kstat.
 *
 * A reader takes two lists of devices, some time apart, and computes rates from the differences:
 *
 *     devstat_getdevs(NULL, &last);                  snapshot 1
 *     sleep(1);
 *     devstat_getdevs(NULL, &cur);                   snapshot 2
 *     etime = cur.snap_time - last.snap_time;        seconds
 *     devstat_compute_statistics(&cur.dinfo->devices[i], &last.dinfo->devices[i], etime,
 *                                DSM_MB_PER_SECOND, &rate, DSM_NONE);
 *
 * A kd is NULL or the result of libkvm's functions. Either one means this machine. Any other handle
 * gives an error, because there is no kernel memory to read.
 *
 * Units:   as <sys/devicestat.h>; etime and snap_time are seconds.
 * Threads: the functions that take a kd share one view of the list, under a lock. The process has
 *          one devstat_errbuf, which every error overwrites.
 * Errors:  -1, with the reason in devstat_errbuf. The reason ends without a newline, except where a
 *          function says otherwise.
 */
#ifndef _DEVSTAT_H
#define _DEVSTAT_H

#include <kvm.h>
#include <sys/devicestat.h>
#include <sys/resource.h> /* programs take struct rusage and getrlimit from here */
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEVSTAT_USER_API_VER 6   /* of the functions below */
#define DEVSTAT_ERRBUF_SIZE 2048 /* bytes of devstat_errbuf, the NUL included */

/* The reason of the last error, ended by a NUL. */
extern char devstat_errbuf[];

/* The states of a processor: the index of cp_time. FreeBSD has these in <sys/resource.h>. */
#ifndef CPUSTATES
#define CP_USER 0
#define CP_NICE 1
#define CP_SYS 2
#define CP_INTR 3
#define CP_IDLE 4
#define CPUSTATES 5
#endif

/* The fields that a match compares, a set. */
typedef enum {
    DEVSTAT_MATCH_NONE = 0x00,
    DEVSTAT_MATCH_TYPE = 0x01, /* the kind of device */
    DEVSTAT_MATCH_IF = 0x02,   /* the interface */
    DEVSTAT_MATCH_PASS = 0x04  /* pass-through devices */
} devstat_match_flags;

/*
 * The results of devstat_compute_statistics. A result is a u_int64_t where the comment has a *,
 * else a long double. TOTAL is the difference of the two entries. READ, WRITE and FREE count one
 * kind of transaction. OTHER counts transactions without data. A name without such a suffix counts
 * all four kinds.
 */
typedef enum {
    DSM_NONE,        /* ends the list */
    DSM_TOTAL_BYTES, /* *; bytes, without DEVSTAT_NO_DATA */
    DSM_TOTAL_BYTES_READ,
    DSM_TOTAL_BYTES_WRITE,
    DSM_TOTAL_TRANSFERS, /* *; DEVSTAT_NO_DATA included */
    DSM_TOTAL_TRANSFERS_READ,
    DSM_TOTAL_TRANSFERS_WRITE,
    DSM_TOTAL_TRANSFERS_OTHER,
    DSM_TOTAL_BLOCKS, /* *; of block_size bytes, else 512 */
    DSM_TOTAL_BLOCKS_READ,
    DSM_TOTAL_BLOCKS_WRITE,
    DSM_KB_PER_TRANSFER, /* mean KiB, 0 without transfers */
    DSM_KB_PER_TRANSFER_READ,
    DSM_KB_PER_TRANSFER_WRITE,
    DSM_TRANSFERS_PER_SECOND, /* rates are 0 where etime is not above 0 */
    DSM_TRANSFERS_PER_SECOND_READ,
    DSM_TRANSFERS_PER_SECOND_WRITE,
    DSM_TRANSFERS_PER_SECOND_OTHER,
    DSM_MB_PER_SECOND, /* MiB */
    DSM_MB_PER_SECOND_READ,
    DSM_MB_PER_SECOND_WRITE,
    DSM_BLOCKS_PER_SECOND,
    DSM_BLOCKS_PER_SECOND_READ,
    DSM_BLOCKS_PER_SECOND_WRITE,
    DSM_MS_PER_TRANSACTION, /* mean duration, 0 without transfers */
    DSM_MS_PER_TRANSACTION_READ,
    DSM_MS_PER_TRANSACTION_WRITE,
    DSM_SKIP, /* takes a pointer, which may be NULL, and computes nothing */
    DSM_TOTAL_BYTES_FREE,
    DSM_TOTAL_TRANSFERS_FREE,
    DSM_TOTAL_BLOCKS_FREE,
    DSM_KB_PER_TRANSFER_FREE,
    DSM_MB_PER_SECOND_FREE,
    DSM_TRANSFERS_PER_SECOND_FREE,
    DSM_BLOCKS_PER_SECOND_FREE,
    DSM_MS_PER_TRANSACTION_OTHER,
    DSM_MS_PER_TRANSACTION_FREE,
    DSM_BUSY_PCT,       /* not guarded: an etime of 0 makes it infinite or no number */
    DSM_QUEUE_LENGTH,   /* *; of current */
    DSM_TOTAL_DURATION, /* seconds */
    DSM_TOTAL_DURATION_READ,
    DSM_TOTAL_DURATION_WRITE,
    DSM_TOTAL_DURATION_FREE,
    DSM_TOTAL_DURATION_OTHER,
    DSM_TOTAL_BUSY_TIME, /* seconds */
    DSM_MAX
} devstat_metric;

/* One condition for devstat_selectdevs; a device must have all fields of the condition. */
struct devstat_match {
    devstat_match_flags match_fields; /* the fields to compare ... */
    devstat_type_flags device_type;   /* ... with this value ... */
    int num_match_categories;         /* ... and the number of those fields, 1 to 3 */
};

/* A word of devstat_buildmatch, such as "da" or "scsi", and its meaning. */
struct devstat_match_table {
    const char *match_str;
    devstat_type_flags type;
    devstat_match_flags match_field;
};

/* One device in the result of devstat_selectdevs. */
struct device_selection {
    uint32_t device_number; /* as in struct devstat */
    char device_name[DEVSTAT_NAME_LEN];
    int unit_number;
    int selected;   /* 0: not selected; else the rank, from 1 */
    uint64_t bytes; /* set by the caller: the measure of the busiest devices */
    int position;   /* index in the array of devices that the selection was made from */
};

/* A list of devices. */
struct devinfo {
    struct devstat *devices; /* inside mem_ptr; each devstat_getdevs may move both */
    uint8_t *mem_ptr;        /* the caller frees the memory with free(3) after the last use */
    long generation;         /* of the list: see devstat_getgeneration */
    int numdevs;             /* devices in the list */
};

/* One snapshot of all devices. The caller sets the first three fields, for its own use. */
struct statinfo {
    long cp_time[CPUSTATES]; /* ticks of the processors by state */
    long tk_nin;             /* characters read from terminals */
    long tk_nout;            /* characters written to terminals */
    struct devinfo *dinfo;   /* the caller's, zeroed before the first devstat_getdevs */
    long double snap_time;   /* seconds of CLOCK_MONOTONIC, read before the devices */
};

/* The effect of dev_selections on an existing selection: see devstat_selectdevs(3). */
typedef enum {
    DS_SELECT_ADD,    /* selects devices that are not selected yet */
    DS_SELECT_ONLY,   /* deselects all devices first */
    DS_SELECT_REMOVE, /* deselects what is named or matches */
    DS_SELECT_ADDONLY /* as ADD, but only what is named or matches */
} devstat_select_mode;

/* Returns the number of devices. */
int devstat_getnumdevs(kvm_t *kd);

/* Returns a number that grows when a device is added or removed. Each process counts from 1. */
long devstat_getgeneration(kvm_t *kd);

/* Returns the DEVSTAT_VERSION of the providers. If they differ, a version that is not this one. */
int devstat_getversion(kvm_t *kd);

/* Returns 0 if the providers have this version. Otherwise the reason ends in a newline. */
int devstat_checkversion(kvm_t *kd);

/*
 * Fills in stats->dinfo and snap_time. Returns 0 if the devices are those of the last call, else 1.
 * The first call returns 1. Each entry is of one moment, but two entries may be of two moments. If
 * a writer ended in the middle of an update, sequence0 of the entry differs from sequence1.
 *
 * Ownership: the memory in stats->dinfo->mem_ptr is the caller's.
 */
int devstat_getdevs(kvm_t *kd, struct statinfo *stats);

/*
 * Selects devices by name, by matches, by bytes and by place in the list: see
 * devstat_selectdevs(3). Returns 1 if the selection has changed, 0 if not.
 *
 * Ownership: *dev_select is NULL before the first call; the caller frees the array.
 */
int devstat_selectdevs(struct device_selection **dev_select, int *num_selected, int *num_selections,
                       long *select_generation, long current_generation, struct devstat *devices,
                       int numdevs, struct devstat_match *matches, int num_matches,
                       char **dev_selections, int num_dev_selections,
                       devstat_select_mode select_mode, int maxshowdevs, int perf_select);

/*
 * Parses "type,interface,pass" into one match and adds the match to *matches. Returns 0. The call
 * overwrites match_str.
 *
 * Ownership: the caller frees *matches.
 */
int devstat_buildmatch(char *match_str, struct devstat_match **matches, int *num_matches);

/*
 * Computes results from two entries of one device. Pairs of a devstat_metric and a pointer follow
 * etime, and DSM_NONE ends the list. A NULL previous stands for the creation of the device.
 *
 * Units: etime in seconds, the time between the entries.
 */
int devstat_compute_statistics(struct devstat *current, struct devstat *previous, long double etime,
                               ...);

/* Returns the seconds from prev_time to cur_time. A NULL prev_time stands for 0. */
long double devstat_compute_etime(struct bintime *cur_time, struct bintime *prev_time);

#ifdef __cplusplus
}
#endif

#endif
