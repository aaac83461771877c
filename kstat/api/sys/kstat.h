/*
 * The kstat framework: the records, and what a provider calls to publish them.
 *
 * Source compatible with <sys/kstat.h> of Solaris and illumos: same names, same fields at the same
 * offsets on a 64-bit machine, same return values. Written anew, after kstat(3KSTAT), kstat(9S),
 * kstat_create(9F) and kstat_queue(9F).
 *
 * A kstat is a header (kstat_t) and a data section whose form depends on the type:
 *
 *     KSTAT_TYPE_RAW    bytes                    any number
 *     KSTAT_TYPE_NAMED  kstat_named_t            any number
 *     KSTAT_TYPE_INTR   kstat_intr_t             one
 *     KSTAT_TYPE_IO     kstat_io_t               one
 *     KSTAT_TYPE_TIMER  kstat_timer_t            any number
 *
 * Units: every time is in nanoseconds of CLOCK_MONOTONIC. A live kstat_io_t is in ticks of
 * gethrtime_unscaled(), which are nanoseconds too unless the program chose another clock. Byte
 * counts are bytes. reads, writes, wcnt and rcnt are 32 bits wide and wrap.
 *
 * A program links libkstat to read (<kstat.h>) and libkstat_provider to publish.
 */
#ifndef _SYS_KSTAT_H
#define _SYS_KSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The integer types that Solaris' <sys/types.h> and <sys/time.h> bring. */
typedef unsigned char uchar_t;
typedef unsigned short ushort_t;
typedef unsigned int uint_t;
typedef unsigned long ulong_t;
__extension__ typedef long long longlong_t; /* C++98 did not know it */
__extension__ typedef unsigned long long u_longlong_t;
typedef longlong_t hrtime_t; /* nanoseconds, or ticks where it says unscaled */
typedef int zoneid_t;
typedef int netstackid_t; /* a stack has the number of the zone that it belongs to */

typedef int kid_t; /* a kstat's number, unique in its chain and never used again */

#define KSTAT_STRLEN 31 /* 30 characters and the NUL */

/* ks_type */
#define KSTAT_TYPE_RAW 0
#define KSTAT_TYPE_NAMED 1
#define KSTAT_TYPE_INTR 2
#define KSTAT_TYPE_IO 3
#define KSTAT_TYPE_TIMER 4
#define KSTAT_NUM_TYPES 5

/* ks_flags: what a provider may ask for ... */
#define KSTAT_FLAG_VIRTUAL 0x01    /* the provider supplies ks_data */
#define KSTAT_FLAG_VAR_SIZE 0x02   /* its size changes; ks_update says to what */
#define KSTAT_FLAG_WRITABLE 0x04   /* a reader with the right to may write it */
#define KSTAT_FLAG_PERSISTENT 0x08 /* deletion makes it dormant; it may come back */
/* ... and what the framework sets. */
#define KSTAT_FLAG_DORMANT 0x10
#define KSTAT_FLAG_INVALID 0x20 /* created but not installed yet */
#define KSTAT_FLAG_LONGSTRINGS 0x40

/* The direction argument of ks_update and ks_snapshot. */
#define KSTAT_READ 0
#define KSTAT_WRITE 1

typedef struct kstat {
    hrtime_t ks_crtime;            /* when it was created */
    struct kstat *ks_next;         /* the next one of the chain */
    kid_t ks_kid;                  /* its number */
    char ks_module[KSTAT_STRLEN];  /* who publishes it ... */
    uchar_t ks_resv;               /* (reserved) */
    int ks_instance;               /* ... which of that module's instances ... */
    char ks_name[KSTAT_STRLEN];    /* ... and under what name */
    uchar_t ks_type;               /* KSTAT_TYPE_ */
    char ks_class[KSTAT_STRLEN];   /* disk, misc, device_error, ... */
    uchar_t ks_flags;              /* KSTAT_FLAG_ */
    void *ks_data;                 /* the data section */
    uint_t ks_ndata;               /* records in it */
    size_t ks_data_size;           /* bytes in it, long strings included */
    hrtime_t ks_snaptime;          /* when the data was last copied */
    /* The rest means something to the provider only. */
    int (*ks_update)(struct kstat *, int);           /* refreshes ks_data, or takes it over */
    void *ks_private;                                /* the provider's own */
    int (*ks_snapshot)(struct kstat *, void *, int); /* copies ks_data out, or in */
    void *ks_lock;                                   /* a kmutex_t held across both, or NULL */
} kstat_t;

/* kstat_named_t.data_type */
#define KSTAT_DATA_CHAR 0
#define KSTAT_DATA_INT32 1
#define KSTAT_DATA_UINT32 2
#define KSTAT_DATA_INT64 3
#define KSTAT_DATA_UINT64 4
#define KSTAT_DATA_FLOAT 5  /* obsolete */
#define KSTAT_DATA_DOUBLE 6 /* obsolete */
#define KSTAT_DATA_STRING 9
#define KSTAT_DATA_LONGLONG KSTAT_DATA_INT64
#define KSTAT_DATA_ULONGLONG KSTAT_DATA_UINT64
#ifdef _LP64
#define KSTAT_DATA_LONG KSTAT_DATA_INT64
#define KSTAT_DATA_ULONG KSTAT_DATA_UINT64
#else
#define KSTAT_DATA_LONG KSTAT_DATA_INT32
#define KSTAT_DATA_ULONG KSTAT_DATA_UINT32
#endif

typedef struct kstat_named {
    char name[KSTAT_STRLEN];
    uchar_t data_type; /* KSTAT_DATA_ */
    union {
        char c[16];
        int32_t i32;
        uint32_t ui32;
        struct {
            union {
                char *ptr;
                char __pad[8]; /* the same room in every data model */
            } addr;
            uint32_t len; /* with the NUL; 0 for a null pointer */
        } str;
        int64_t i64;
        uint64_t ui64;
        long l;
        ulong_t ul;
        longlong_t ll;
        u_longlong_t ull;
        float f;
        double d;
    } value;
} kstat_named_t;

#define KSTAT_NAMED_STR_PTR(knptr) ((knptr)->value.str.addr.ptr)
#define KSTAT_NAMED_STR_BUFLEN(knptr) ((knptr)->value.str.len)

/* kstat_intr_t.intrs[] */
#define KSTAT_INTR_HARD 0
#define KSTAT_INTR_SOFT 1
#define KSTAT_INTR_WATCHDOG 2
#define KSTAT_INTR_SPURIOUS 3
#define KSTAT_INTR_MULTSVC 4
#define KSTAT_NUM_INTRS 5

typedef struct kstat_intr {
    uint_t intrs[KSTAT_NUM_INTRS];
} kstat_intr_t;

/*
 * A device's two queues. wait: accepted, not started. run: with the device.
 * At each change of a queue's length, the interval since the last change is added to its time if
 * the queue was not empty, and interval times length to its lentime.
 */
typedef struct kstat_io {
    u_longlong_t nread;    /* bytes read */
    u_longlong_t nwritten; /* bytes written */
    uint_t reads;          /* read operations */
    uint_t writes;         /* write operations */
    hrtime_t wtime;        /* time that the wait queue was not empty */
    hrtime_t wlentime;     /* its length integrated over time */
    hrtime_t wlastupdate;  /* when its length last changed */
    hrtime_t rtime;        /* the same of the run queue */
    hrtime_t rlentime;
    hrtime_t rlastupdate;
    uint_t wcnt; /* requests waiting now */
    uint_t rcnt; /* requests running now */
} kstat_io_t;

typedef struct kstat_timer {
    char name[KSTAT_STRLEN];
    uchar_t resv;
    u_longlong_t num_events;
    hrtime_t elapsed_time; /* of all events together */
    hrtime_t min_time;
    hrtime_t max_time;
    hrtime_t start_time; /* of the last event */
    hrtime_t stop_time;
} kstat_timer_t;

#ifdef __cplusplus /* so that -Wold-style-cast has nothing to say about a user's code */
#define KSTAT_DATA_AS(type, kptr) (static_cast<type *>((kptr)->ks_data))
#else
#define KSTAT_DATA_AS(type, kptr) ((type *)(kptr)->ks_data)
#endif
#define KSTAT_NAMED_PTR(kptr) KSTAT_DATA_AS(kstat_named_t, kptr)
#define KSTAT_INTR_PTR(kptr) KSTAT_DATA_AS(kstat_intr_t, kptr)
#define KSTAT_IO_PTR(kptr) KSTAT_DATA_AS(kstat_io_t, kptr)
#define KSTAT_TIMER_PTR(kptr) KSTAT_DATA_AS(kstat_timer_t, kptr)

/* The requests of the kstat device, which here travel on a provider's socket. */
#define KSTAT_IOC_BASE ('K' << 8)
#define KSTAT_IOC_CHAIN_ID (KSTAT_IOC_BASE | 0x01)
#define KSTAT_IOC_READ (KSTAT_IOC_BASE | 0x02)
#define KSTAT_IOC_WRITE (KSTAT_IOC_BASE | 0x03)

#define GLOBAL_ZONEID 0
#define ALL_ZONES (-1)
#define GLOBAL_NETSTACKID 0

/* ---- For providers: link libkstat_provider. ---- */

/*
 * Makes a kstat, not yet visible to readers.
 * Returns NULL, with one warning on standard error that says why, when the type or the number of
 * records is wrong, the flags contradict each other, the name is taken, or memory is short.
 * A NULL name stands for the module with the instance behind it.
 * Ownership: the framework's, until kstat_delete. Threads: any.
 */
kstat_t *kstat_create(const char *module, int instance, const char *name, const char *ks_class,
                      uchar_t type, uint_t ndata, uchar_t flags);
kstat_t *kstat_create_zone(const char *module, int instance, const char *name, const char *ks_class,
                           uchar_t type, uint_t ndata, uchar_t flags, zoneid_t zone);

/*
 * Makes it visible. The first one of a process also opens the process's socket in the run
 * directory, so that readers of other processes find it.
 */
void kstat_install(kstat_t *ksp);

/*
 * Takes it out of the chain and frees it, after waiting for a reader that has it in hand. A
 * persistent one stays readable with its last values. NULL is allowed; holding ks_lock is not.
 */
void kstat_delete(kstat_t *ksp);
void kstat_delete_byname(const char *module, int instance, const char *name);
void kstat_delete_byname_zone(const char *module, int instance, const char *name, zoneid_t zone);

/*
 * Zones. Linux has none, so every reader is in the global one: a kstat that was created for another
 * zone is invisible to them until kstat_zone_add gives it to the global zone. A name is taken only
 * in the zones that see its kstat.
 */
void kstat_zone_add(kstat_t *ksp, zoneid_t zone);
void kstat_zone_remove(kstat_t *ksp, zoneid_t zone);
int kstat_zone_find(kstat_t *ksp, zoneid_t zone); /* 1 if the zone sees it, else 0 */

/* In the zone of a network stack; both stand for kstat_create_zone and kstat_delete. */
kstat_t *kstat_create_netstack(const char *module, int instance, const char *name,
                               const char *ks_class, uchar_t type, uint_t ndata, uchar_t flags,
                               netstackid_t stack);
void kstat_delete_netstack(kstat_t *ksp, netstackid_t stack);

/*
 * The exclusive use of one kstat: reads, writes, installation and deletion by others wait for
 * kstat_rele, which the same thread calls. NULL: no such kstat in that zone. A thread that asks for
 * what it holds already, or deletes it, would wait for itself, and aborts.
 */
kstat_t *kstat_hold_bykid(kid_t kid, zoneid_t zone);
kstat_t *kstat_hold_byname(const char *module, int instance, const char *name, zoneid_t zone);
void kstat_rele(kstat_t *ksp);

void kstat_set_string(char *dst, const char *src);
void kstat_named_init(kstat_named_t *knp, const char *name, uchar_t data_type);
/* Stores the pointer: the string must outlive the kstat. */
void kstat_named_setstr(kstat_named_t *knp, const char *src);
void kstat_timer_init(kstat_timer_t *ktp, const char *name);
void kstat_timer_start(kstat_timer_t *ktp);
void kstat_timer_stop(kstat_timer_t *ktp);

/*
 * Queue accounting. Each reads the clock once; the caller holds ks_lock, or is the only thread that
 * touches this kstat_io_t.
 */
void kstat_waitq_enter(kstat_io_t *kiop);
void kstat_waitq_exit(kstat_io_t *kiop);
void kstat_runq_enter(kstat_io_t *kiop);
void kstat_runq_exit(kstat_io_t *kiop);
void kstat_waitq_to_runq(kstat_io_t *kiop);
void kstat_runq_back_to_waitq(kstat_io_t *kiop);

/*
 * The clock of the queue functions, and the way from its ticks to CLOCK_MONOTONIC nanoseconds. A
 * tick is a nanosecond, so that what a provider stamps with gethrtime() agrees with it.
 */
hrtime_t gethrtime_unscaled(void);
void scalehrtime(hrtime_t *ticks);

/* CLOCK_MONOTONIC in nanoseconds. */
#ifdef CLOCK_MONOTONIC
static __inline__ hrtime_t gethrtime(void) {
    struct timespec now;
    hrtime_t ns;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = now.tv_sec;
    return ns * 1000000000 + now.tv_nsec;
}
#else /* -std=c99 without a feature test macro: <time.h> hides the clock, the C library has it */
struct kstat_timespec {
    long tv_sec;
    long tv_nsec;
};
int kstat_clock_gettime(int clock, struct kstat_timespec *now) __asm__("clock_gettime");

static __inline__ hrtime_t gethrtime(void) {
    struct kstat_timespec now;
    hrtime_t ns;
    kstat_clock_gettime(1, &now); /* 1: Linux' number of CLOCK_MONOTONIC */
    ns = now.tv_sec;
    return ns * 1000000000 + now.tv_nsec;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
