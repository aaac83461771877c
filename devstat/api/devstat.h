/*
 * libdevstat: reading device statistics as FreeBSD's programs do.
 *
 * Source compatible with FreeBSD's <devstat.h>, API version 6; written anew, after devstat(3). The
 * library exports these ten functions and devstat_errbuf, and nothing else.
 *
 * What there is to read are the devices of every provider in the run directory ($KSTAT_DIR, else
 * /run/kstat for root, else $XDG_RUNTIME_DIR/kstat); each entry travels as a RAW kstat. kd is NULL
 * or what libkvm's functions return, which means this machine; any other handle is answered with an
 * error: there is no kernel memory to read.
 *
 * Units:   as <sys/devicestat.h>; etime and snap_time are seconds.
 * Threads: the functions that take a kd share one view of the list, under a lock. devstat_errbuf is
 *          one for the process.
 * Errors:  -1, with the reason in devstat_errbuf, without a newline at its end unless it says so.
 */
#ifndef _DEVSTAT_H
#define _DEVSTAT_H

#include <kvm.h>
#include <sys/devicestat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEVSTAT_USER_API_VER 6
#define DEVSTAT_ERRBUF_SIZE 2048

extern char devstat_errbuf[];

/* Where processors spend their time, which FreeBSD has in <sys/resource.h>: index of cp_time. */
#ifndef CPUSTATES
#define CP_USER 0
#define CP_NICE 1
#define CP_SYS 2
#define CP_INTR 3
#define CP_IDLE 4
#define CPUSTATES 5
#endif

typedef enum {
    DEVSTAT_MATCH_NONE = 0x00,
    DEVSTAT_MATCH_TYPE = 0x01,
    DEVSTAT_MATCH_IF = 0x02,
    DEVSTAT_MATCH_PASS = 0x04
} devstat_match_flags;

/* What devstat_compute_statistics computes; * is u_int64_t *, else long double *. */
typedef enum {
    DSM_NONE,        /* ends the list */
    DSM_TOTAL_BYTES, /* *; without those of DEVSTAT_NO_DATA */
    DSM_TOTAL_BYTES_READ,
    DSM_TOTAL_BYTES_WRITE,
    DSM_TOTAL_TRANSFERS, /* *; with those of DEVSTAT_NO_DATA */
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

struct devstat_match {
    devstat_match_flags match_fields; /* which of the three it asks for ... */
    devstat_type_flags device_type;
    int num_match_categories; /* ... and how many that is */
};

struct devstat_match_table {
    const char *match_str;
    devstat_type_flags type;
    devstat_match_flags match_field;
};

struct device_selection {
    uint32_t device_number;
    char device_name[DEVSTAT_NAME_LEN];
    int unit_number;
    int selected;   /* 0: not; else its rank, from 1 */
    uint64_t bytes; /* the caller's to keep: what the busiest are told by */
    int position;   /* index in the devices that it was made from */
};

struct devinfo {
    struct devstat *devices; /* in mem_ptr; both may be others after each devstat_getdevs */
    uint8_t *mem_ptr;        /* the caller's to free, last */
    long generation;
    int numdevs;
};

struct statinfo {
    long cp_time[CPUSTATES]; /* this and tk_ are the caller's to fill in */
    long tk_nin;
    long tk_nout;
    struct devinfo *dinfo; /* zeroed by the caller before the first devstat_getdevs */
    long double snap_time; /* of CLOCK_MONOTONIC, taken before the devices are asked */
};

typedef enum {
    DS_SELECT_ADD,
    DS_SELECT_ONLY,
    DS_SELECT_REMOVE,
    DS_SELECT_ADDONLY
} devstat_select_mode;

/* How many devices there are. */
int devstat_getnumdevs(kvm_t *kd);

/* A number that grows whenever a device comes or goes, as this process sees it. From 1. */
long devstat_getgeneration(kvm_t *kd);

/* The DEVSTAT_VERSION of the providers; where they disagree, one that is not ours. */
int devstat_getversion(kvm_t *kd);

/* 0: the providers' version is ours. The reason, if not, ends in a newline. */
int devstat_checkversion(kvm_t *kd);

/*
 * Fills in stats->dinfo and snap_time. 0: the devices are those of the last call; 1: others, and so
 * at the first call. Each entry is of one moment, but not all of the same. An entry that its writer
 * left in the middle has a sequence0 that differs from its sequence1.
 */
int devstat_getdevs(kvm_t *kd, struct statinfo *stats);

/*
 * Selects devices by name, by matches, by bytes and by place in the list: see
 * devstat_selectdevs(3). *dev_select is NULL at first, and the caller's to free. 1: the selection
 * is another.
 */
int devstat_selectdevs(struct device_selection **dev_select, int *num_selected, int *num_selections,
                       long *select_generation, long current_generation, struct devstat *devices,
                       int numdevs, struct devstat_match *matches, int num_matches,
                       char **dev_selections, int num_dev_selections,
                       devstat_select_mode select_mode, int maxshowdevs, int perf_select);

/*
 * Makes one match of "type,interface,pass" and adds it to *matches, which is the caller's to free.
 * Destroys match_str.
 */
int devstat_buildmatch(char *match_str, struct devstat_match **matches, int *num_matches);

/* Pairs of a devstat_metric and a pointer follow etime, and DSM_NONE ends them. previous may be
 * NULL: since the device was created. */
int devstat_compute_statistics(struct devstat *current, struct devstat *previous, long double etime,
                               ...);

/* Seconds from prev_time, which may be NULL, to cur_time. */
long double devstat_compute_etime(struct bintime *cur_time, struct bintime *prev_time);

#ifdef __cplusplus
}
#endif

#endif
