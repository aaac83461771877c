/*
 * The kstat2 framework: the functions of providers, and the numbers that providers and readers
 * share.
 *
 * Source compatible with <sys/kstat2.h> of Solaris 11.4, as far as its manual is public. Where that
 * manual says nothing, the choice was made here, and the manual page says so. Written anew, after
 * kstat2(9S), kstat2_named(9S), kstat2_md(9S), kstat2_create(9F), kstat2_create_histogram(9F) and
 * their sisters.
 *
 * A kstat2 has a path, kstat:/<category>/<component>/<name>[/<instance>...], and name-value pairs.
 * Every pair has metadata with the meaning and the unit of its number. A tool can therefore print
 * every kstat2 in the right unit, even a new one.
 *
 *     kstat2_create ──▶ invisible ──install──▶ visible ──delete──▶ freed
 *                          ▲                      └─delete, PERSISTENT──▶ DORMANT ─┐
 *                          └────────────── create of the same path ◀───────────────┘
 *
 * Units: every time is in nanoseconds. Threads: any, unless a function says otherwise.
 * Errors: a function that returns a pointer returns NULL, and prints one line on standard error
 * that says why. A program links libkstat_provider.
 */
#ifndef _SYS_KSTAT2_H
#define _SYS_KSTAT2_H

#include <stddef.h>
#include <stdint.h>
#include <sys/kstat.h> /* hrtime_t, kid_t, zoneid_t, ALL_ZONES, GLOBAL_ZONEID, KSTAT_READ */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What providers and readers share. ---- */

/*
 * A fixed type lets C++ code pass any number for one of these, as C code can. The framework refuses
 * unknown numbers.
 */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define KSTAT2_ANY_NUMBER : uint32_t
#else
#define KSTAT2_ANY_NUMBER
#endif

/* The type of a pair's value. There are no signed, narrow or floating ones. */
typedef enum kstat2_nv_type {
    KSTAT2_NVVT_MAP = 0, /* a map inside a map: readers only */
    KSTAT2_NVVT_INT = 1, /* uint64_t */
    KSTAT2_NVVT_INTS = 2,
    KSTAT2_NVVT_STR = 3,
    KSTAT2_NVVT_STRS = 4
} kstat2_nv_type_t;

/* The present state of a value: a set. */
typedef uint16_t kstat2_nv_flags_t;
enum {
    KSTAT2_NVF_NONE = 0x0,
    KSTAT2_NVF_INVAL = 0x1, /* means nothing at present: show "-", not 0 */
    KSTAT2_NVF_V1 = 0x8000  /* reserved: the value exists in a kstat (not kstat2) only */
};

/* The meaning of a value. The units here are those after scaling. */
typedef enum kstat2_nv_metatype KSTAT2_ANY_NUMBER {
    KSTAT2_NVMT_UNK = 0,
    KSTAT2_NVMT_ID = 1,      /* names something; differences mean nothing */
    KSTAT2_NVMT_CNT = 2,     /* events */
    KSTAT2_NVMT_T_EPOCH = 3, /* seconds since 1970 */
    KSTAT2_NVMT_T_REL = 4,   /* seconds since boot */
    KSTAT2_NVMT_T_ACC = 5,   /* seconds, accumulated */
    KSTAT2_NVMT_PCT = 6,     /* 0 to 100 */
    KSTAT2_NVMT_ADDR = 7,    /* show in hexadecimal */
    KSTAT2_NVMT_TEMP_C = 8,  /* degrees Celsius */
    KSTAT2_NVMT_RPM = 9,
    KSTAT2_NVMT_VOLT = 10,
    KSTAT2_NVMT_WATT = 11,
    KSTAT2_NVMT_CURR = 12, /* ampere */
    KSTAT2_NVMT_BYTES = 13,
    KSTAT2_NVMT_BITS = 14,
    KSTAT2_NVMT_STATE = 15,
    KSTAT2_NVMT_FREQ = 16,  /* hertz */
    KSTAT2_NVMT_FLAGS = 17, /* show in hexadecimal */
    KSTAT2_NVMT_JOULE = 18
} kstat2_nv_metatype_t;

/* How metadata is to be read: a set. */
typedef uint16_t kstat2_nv_metaflag_t;
enum {
    KSTAT2_NVMF_NONE = 0x0,
    KSTAT2_NVMF_FRACT = 0x1, /* divide by scale; without it, multiply */
    KSTAT2_NVMF_LIMIT = 0x2  /* a bound, not a reading: never a rate */
};

/* The kind of a whole kstat2. */
typedef enum kstat2_map_metatype {
    KSTAT2_MT_NONE = 0,
    KSTAT2_MT_QUEUE = 1,
    KSTAT2_MT_IO = 2,
    KSTAT2_MT_INTR = 3,
    KSTAT2_MT_TIMER = 4,
    KSTAT2_MT_HIST = 5
} kstat2_map_metatype_t;

/* Promises and requests of a provider: a set. */
typedef uint32_t kstat2_metaflag_t;
enum {
    KSTAT2_MF_NONE = 0x0,
    KSTAT2_MF_STABLE = 0x1, /* does not go away without notice */
    KSTAT2_MF_PRIV = 0x2    /* for privileged readers; hidden from all others */
};

/* Spellings in the examples and the text of kstat2_create_histogram(9F), for programs that copied them. */
#define KSTAT_NVMT_BYTES KSTAT2_NVMT_BYTES
#define KSTAT_NVMT_T_REL KSTAT2_NVMT_T_REL
#define KSTAT_NVMT_COUNT KSTAT2_NVMT_CNT
#define KSTAT_MF_PRIV KSTAT2_MF_PRIV

/* The state of a kstat: a set. */
enum {
    KSTAT2_MAPF_NONE = 0x0,
    KSTAT2_MAPF_DORM = 0x1 /* its provider has deleted it; these are the last values */
};

/* The "type" of a histogram. */
typedef enum kstat2_nv_hist_type KSTAT2_ANY_NUMBER {
    KSTAT2_NVHIST_LINEAR = 0,   /* steps of one width between two bounds */
    KSTAT2_NVHIST_LOG2 = 1,     /* by the number of binary digits */
    KSTAT2_NVHIST_LOG10 = 2,    /* by the number of decimal digits */
    KSTAT2_NVHIST_LOG10_LIN = 3 /* decades, each in steps of one width */
} kstat2_nv_hist_type_t;

/* ---- For providers: link libkstat_provider. ---- */

#define KSTAT2_PATHLEN 256 /* bytes of a path, its leading slash and its NUL included */

/* ks2_flags: what a provider may ask for ... */
#define KSTAT2_FLAG_PERSISTENT 0x1 /* deletion makes it dormant; its values stay */
#define KSTAT2_FLAG_GZ_VIS 0x2     /* made for another zone, and the global one sees it too */
/* ... and what the framework sets. */
#define KSTAT2_FLAG_DORMANT 0x10
#define KSTAT2_FLAG_INVALID 0x20 /* created but not installed yet */
#define KSTAT2_FLAG_VIRTUAL 0x40 /* the provider's own storage */

typedef struct kstat2_named_str {
    char* ptr;    /* may be NULL, which is the empty string */
    uint32_t len; /* with the NUL; 0 for NULL */
} kstat2_named_str_t;

/* A pair. Its name and type are fixed once the kstat is installed; flags and value may change. */
typedef struct kstat2_named {
    kstat2_named_str_t name;
    uint8_t type;            /* KSTAT2_NVVT_ */
    kstat2_nv_flags_t flags; /* KSTAT2_NVF_ */
    union {
        uint64_t integer;
        struct {
            uint64_t* array;
            uint32_t length;
        } integers;
        kstat2_named_str_t string;
        struct {
            kstat2_named_str_t* array;
            uint32_t length;
        } strings;
    } value;
} kstat2_named_t;

/* The meaning of a value. The number of units is value * scale; if FRACT, value / scale. */
typedef struct kstat2_md {
    uint16_t type; /* KSTAT2_NVMT_ */
    kstat2_nv_metaflag_t flags;
    uint64_t scale; /* not 0 */
    const char* descr;
    int8_t v1_data_type; /* KSTAT_DATA_, or -1 if no kstat ever had the value */
} kstat2_md_t;

typedef struct kstat2 {
    hrtime_t ks2_crtime;           /* when it was first created */
    hrtime_t ks2_snaptime;         /* when it was last read */
    kid_t ks2_kid;                 /* its number, never used again in this process */
    uint32_t ks2_type;             /* KSTAT_TYPE_NAMED: data is pairs, whatever the metatype */
    uint32_t ks2_flags;            /* KSTAT2_FLAG_ */
    uint32_t ks2_metatype;         /* KSTAT2_MT_ */
    char ks2_path[KSTAT2_PATHLEN]; /* "/misc/my_drv/1/data_in" */
    void* ks2_data;                /* kstat2_named_t[ks2_ndata] */
    uint_t ks2_ndata;
    size_t ks2_data_size; /* bytes of the pairs */
    /* The next three may be set between create and install only. */
    /* Refreshes the values before a KSTAT_READ; may set ks2_snaptime, which is now otherwise. */
    int (*ks2_update)(struct kstat2*, int);
    void* ks2_private;                      /* the provider's own */
    void* ks2_lock;                         /* a kmutex_t held across a read, or NULL */
    void* ks2_reserved;                     /* the framework's */
} kstat2_t;

#ifdef __cplusplus /* so that -Wold-style-cast has nothing to say about a user's code */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type in parentheses is none */
#define KSTAT2_DATA_AS(type, ksp) (static_cast<type*>((ksp)->ks2_data))
#else
#define KSTAT2_DATA_AS(type, ksp) ((type*)(ksp)->ks2_data)
#endif
#define KSTAT2_NAMED_PTR(ksp) KSTAT2_DATA_AS(kstat2_named_t, ksp)

/* The pairs of the templates, each usable as an array too. */

/* A device: nread to writes are the driver's to count, on success; the rest the queue functions'.
 */
typedef struct kstat2_io {
    kstat2_named_t nread;       /* bytes read */
    kstat2_named_t nwritten;    /* bytes written */
    kstat2_named_t reads;       /* read operations */
    kstat2_named_t writes;      /* write operations */
    kstat2_named_t wtime;       /* ns that the wait queue was not empty */
    kstat2_named_t wlentime;    /* its length integrated over time */
    kstat2_named_t wlastupdate; /* when its length last changed */
    kstat2_named_t rtime;       /* the same of the run queue */
    kstat2_named_t rlentime;
    kstat2_named_t rlastupdate;
    kstat2_named_t wcnt; /* requests waiting now */
    kstat2_named_t rcnt; /* requests running now */
} kstat2_io_t;

/* Two queues that move no data: the last eight of the above. */
typedef struct kstat2_queue {
    kstat2_named_t wtime;
    kstat2_named_t wlentime;
    kstat2_named_t wlastupdate;
    kstat2_named_t rtime;
    kstat2_named_t rlentime;
    kstat2_named_t rlastupdate;
    kstat2_named_t wcnt;
    kstat2_named_t rcnt;
} kstat2_queue_t;

typedef struct kstat2_intr {
    kstat2_named_t hard;
    kstat2_named_t soft;
    kstat2_named_t watchdog;
    kstat2_named_t spurious;
    kstat2_named_t multsvc;
} kstat2_intr_t;

typedef struct kstat2_timer {
    kstat2_named_t num_events;
    kstat2_named_t elapsed_time; /* ns, of all events together */
    kstat2_named_t min_time;
    kstat2_named_t max_time;
    kstat2_named_t start_time; /* of the last event, ns since boot */
    kstat2_named_t stop_time;
} kstat2_timer_t;

#define KSTAT2_IO_PTR(ksp) KSTAT2_DATA_AS(kstat2_io_t, ksp)
#define KSTAT2_QUEUE_PTR(ksp) KSTAT2_DATA_AS(kstat2_queue_t, ksp)
#define KSTAT2_INTR_PTR(ksp) KSTAT2_DATA_AS(kstat2_intr_t, ksp)
#define KSTAT2_TIMER_PTR(ksp) KSTAT2_DATA_AS(kstat2_timer_t, ksp)

#define KSTAT2_IO_NREAD(kiop) ((kiop)->nread.value.integer)
#define KSTAT2_IO_NWRITTEN(kiop) ((kiop)->nwritten.value.integer)
#define KSTAT2_IO_READS(kiop) ((kiop)->reads.value.integer)
#define KSTAT2_IO_WRITES(kiop) ((kiop)->writes.value.integer)
#define KSTAT2_IO_WTIME(kiop) ((kiop)->wtime.value.integer)
#define KSTAT2_IO_WLENTIME(kiop) ((kiop)->wlentime.value.integer)
#define KSTAT2_IO_WLASTUPDATE(kiop) ((kiop)->wlastupdate.value.integer)
#define KSTAT2_IO_RTIME(kiop) ((kiop)->rtime.value.integer)
#define KSTAT2_IO_RLENTIME(kiop) ((kiop)->rlentime.value.integer)
#define KSTAT2_IO_RLASTUPDATE(kiop) ((kiop)->rlastupdate.value.integer)
#define KSTAT2_IO_WCNT(kiop) ((kiop)->wcnt.value.integer)
#define KSTAT2_IO_RCNT(kiop) ((kiop)->rcnt.value.integer)

typedef struct kstat2_template kstat2_template_t; /* opaque; there is one for each metatype below */

/*
 * Makes a kstat of `ndata` pairs, invisible until kstat2_install.
 *
 * pseg, npseg: the path's segments, three or more: UTF-8 without '/', ';', ':' and control bytes.
 * zone:  who sees it first: ALL_ZONES, GLOBAL_ZONEID or one zone.
 * data:  the provider's array, or NULL for the framework's, zeroed.
 * flags: KSTAT2_FLAG_PERSISTENT (not with storage of the provider's), KSTAT2_FLAG_GZ_VIS.
 * md:    ndata of them, or NULL: every value is KSTAT2_NVMT_UNK then.
 *
 * A dormant kstat2 of this path becomes active again, with its values and its creation time. Its
 * kind and its number of pairs must be the same.
 *
 * Ownership: the kstat2 belongs to the framework until kstat2_delete. Strings are copied.
 * Errors:    NULL: the path is in use, or its dormant kstat2 has another form.
 */
kstat2_t* kstat2_create(const char* pseg[], uint32_t npseg, zoneid_t zone, kstat2_named_t* data,
                        uint_t ndata, uint32_t flags, const kstat2_md_t* md, const char* desc,
                        kstat2_metaflag_t mflags);

/*
 * The same with pairs and metadata of a template: KSTAT2_MT_QUEUE, _IO, _INTR or _TIMER (NULL:
 * another id). A provider's own `data` has the template's struct and is initialised here.
 */
kstat2_template_t* kstat2_lookup_template(uint32_t id);
kstat2_t* kstat2_create_with_template(const char* pseg[], uint32_t npseg, zoneid_t zone,
                                      kstat2_template_t* tmpl, uint32_t flags, kstat2_named_t* data,
                                      const char* desc, kstat2_metaflag_t mflags);

/*
 * A histogram: pairs "buckets", "type", "range_min", "range_max" and "stepping".
 *
 *   - content_type, scale, md_flags: the meaning of the counted values (kstat2_md_t). The counts in
 *     the buckets are never scaled.
 *   - buckets, num_buckets: the provider's own array, at least as long as the shape needs. NULL and
 *     0 choose an array of the framework.
 *   - range_min, range_max, stepping: the bounds, by type:
 *
 *     type         range_min                  range_max                      stepping
 *     LINEAR       upper bound of the first   lower bound of the last        width of a bucket
 *                  bucket                     bucket; 0: no last bucket      between the two
 *     LOG10_LIN    first decade's power of    last decade's power of ten     steps per decade
 *                  ten
 *     LOG2, LOG10  ignored                    ignored                        ignored
 *
 * ks2_lock of a histogram belongs to the framework: a provider must not set it.
 */
kstat2_t* kstat2_create_histogram(const char* pseg[], uint32_t npseg, zoneid_t zone,
                                  kstat2_nv_hist_type_t type, kstat2_nv_metatype_t content_type,
                                  uint64_t scale, kstat2_nv_metaflag_t md_flags, uint64_t* buckets,
                                  uint16_t num_buckets, uint64_t range_min, uint64_t range_max,
                                  uint64_t stepping, uint32_t flags, const char* desc,
                                  kstat2_metaflag_t mflags);

/*
 * Counts one occurrence of `value`. The function takes no lock and never waits. NULL, a kstat2 that
 * is no histogram, and a dormant or deleted one are ignored. A caller that may race with
 * kstat2_delete calls kstat2_hold_bykid first, which keeps the memory.
 */
void kstat2_hist_add_value(kstat2_t* ksp, uint64_t value);

/*
 * Makes it visible. The first one of a process also opens the process's socket in the run
 * directory. A kstat2 with wrong pairs stays invisible, and one line on standard error gives the
 * reason. A name may be missing, may be there twice, or may be the path of another kstat2. The
 * pairs of a reactivated kstat2 may have changed.
 */
void kstat2_install(kstat2_t* ksp);

/*
 * Takes it away after waiting for a reader that has it in hand; a persistent one becomes dormant
 * instead. NULL is allowed; holding ks2_lock, or being in its ks2_update, is not. delete_zone does
 * so only if that zone sees the kstat.
 */
void kstat2_delete(kstat2_t* ksp);
void kstat2_delete_zone(kid_t kid, zoneid_t zone);

/*
 * Prepares a pair. Stores the pointer; the name must outlive the kstat's installation. An integer
 * keeps its value: 0 in the framework's storage, the last value in a reactivated kstat2. A pair of
 * another type becomes empty.
 */
void kstat2_nv_init(kstat2_named_t* nv, const char* name, uchar_t type, kstat2_nv_flags_t flags);
/* Store the pointer: what it points at must outlive the kstat. NULL: empty. */
void kstat2_nv_setstr(kstat2_named_t* nv, const char* value);
void kstat2_nv_setstrs(kstat2_named_t* nv, kstat2_named_str_t* array, uint32_t length);
void kstat2_nv_setints(kstat2_named_t* nv, uint64_t* array, uint32_t length);

/*
 * Keeps the kstat_t and the framework's storage of a kstat in memory, deleted or not, until
 * kstat2_rele. Unlike kstat_hold_bykid, this hold excludes no other thread. NULL: no such kstat2.
 */
kstat2_t* kstat2_hold_bykid(kid_t kid);
void kstat2_rele(kstat2_t* ksp);

/*
 * Adds a zone to the list of zones that see the kstat2, or removes a zone. ALL_ZONES and
 * GLOBAL_ZONEID are allowed.
 */
void kstat2_zone_add(kstat2_t* ksp, zoneid_t zone);
void kstat2_zone_remove(kstat2_t* ksp, zoneid_t zone);

/*
 * Optional kstat2s: statistics that cost something and are off until a reader enables them. The
 * name is "module:what", 30 bytes at most. The callback creates or deletes the kstat2s. A result
 * other than 0 is an errno, and leaves the state unchanged. The callback runs on the thread that
 * serves readers, one call at a time. kstat2_unregister_optional waits for a running call, and
 * calls nothing.
 */
#define KSTAT2_OPT_NAMELEN 31 /* 30 bytes and the NUL */
#define KSTAT2_OPT_INVALID (-1)
typedef int32_t kstat2_opt_id_t;
typedef int (*kstat2_opt_cb_t)(kstat2_opt_id_t id, int enable, void* arg);
kstat2_opt_id_t kstat2_register_optional(const char* name, const char* desc,
                                         kstat2_opt_cb_t callback, void* arg);
void kstat2_unregister_optional(kstat2_opt_id_t id);

/*
 * Queue accounting, as kstat_queue(9F) has it. Each reads the clock once, in nanoseconds; the
 * caller holds ks2_lock, or is the only thread that touches these pairs.
 */
void kstat2_waitq_enter(kstat2_io_t* kiop);
void kstat2_waitq_exit(kstat2_io_t* kiop);
void kstat2_runq_enter(kstat2_io_t* kiop);
void kstat2_runq_exit(kstat2_io_t* kiop);
void kstat2_waitq_to_runq(kstat2_io_t* kiop);
void kstat2_runq_back_to_waitq(kstat2_io_t* kiop);

#ifdef __cplusplus
}
#endif

#endif
