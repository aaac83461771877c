/*
 * The kstat framework: the records, and the functions that a provider calls to publish them.
 *
 * A kstat ("kernel statistic", which Solaris introduced) is a named set of counters. Here a kstat
 * belongs to an ordinary process, its provider. Every provider answers readers on a socket. A tool
 * therefore reads the counters of a running program without stopping that program.
 *
 *      provider process                                reader process
 *     +-----------------------------------------+     +-----------------------+
 *     |  threads of the program                 |     |  iostat, kstat, ...   |
 *     |     |                                   |     |      ^                |
 *     |     | count under ks_lock               |     |      | kstat_read     |
 *     |     v                                   |     |      |                |
 *     |  ks_data --ks_snapshot--> server thread --------> libkstat            |
 *     +-----------------------------------------+  ^  +-----------------------+
 *                                                  +-- socket in the run directory
 *
 * A provider includes this header and links libkstat_provider. A reader includes <kstat.h> and
 * links libkstat. This header is source compatible with <sys/kstat.h> of Solaris and illumos.
 * Names, values and return values are theirs, and every field has their offset on a 64-bit machine.
 * The text is new, written after kstat(3KSTAT), kstat(9S), kstat_create(9F) and kstat_queue(9F).
 *
 *
 * 1. The parts of a kstat
 *
 * A kstat is a header (kstat_t) and a data section. The header gives the name, the class and the
 * type. The type gives the form of the data section:
 *
 *     type               one record      bytes    records           record holds
 *     KSTAT_TYPE_RAW     a byte              1    0 to INT_MAX      a form that both sides agree on
 *     KSTAT_TYPE_NAMED   kstat_named_t      48    0 to INT_MAX      a name, a type and a value
 *     KSTAT_TYPE_INTR    kstat_intr_t       20    exactly 1         five interrupt counters
 *     KSTAT_TYPE_IO      kstat_io_t         80    exactly 1         the two queues of a device
 *     KSTAT_TYPE_TIMER   kstat_timer_t      80    0 to INT_MAX      the durations of one event
 *
 * The full name of a kstat is (module, instance, name), as in ("nbd", 0, "nbd0"). Two kstats that
 * one zone sees never have the same full name. Names are cut to 30 characters before the test.
 *
 * The chain is the list of all kstats of a process. A kstat has a number in the chain, its kid. The
 * chain itself has a number too, the chain id, which grows when a list of headers would change. A
 * reader compares the chain id to decide whether to fetch the headers again.
 *
 *
 * 2. The life of a kstat
 *
 *     kstat_create --> INVALID --kstat_install--> visible --kstat_delete--> freed
 *                         ^                          |
 *                         |                          +--kstat_delete, PERSISTENT--> DORMANT
 *                         |                                                            |
 *                         +------- kstat_create of the same name, class and form ------+
 *
 *   - INVALID: the provider sets up the kstat. Readers do not see the kstat.
 *   - visible: readers list the kstat and read its data. The provider changes the data.
 *   - DORMANT: the provider has deleted a persistent kstat. Readers still read the last values.
 *
 * A provider takes these steps in this order:
 *
 *     ksp = kstat_create(...)             header and zeroed data section exist
 *     ks_data = ...                       with KSTAT_FLAG_VIRTUAL only: memory of the provider
 *     kstat_named_init(...) per record    names and types
 *     ks_update, ks_snapshot, ks_lock, ks_private    where the defaults are not enough
 *     kstat_install(ksp)                  from now on readers may call into the provider
 *     ...                                 counters change under ks_lock
 *     kstat_delete(ksp)                   readers are finished; ksp is not valid any more
 *
 * The pointer stays valid from kstat_create to kstat_delete, and the kstat_t never moves. A
 * persistent kstat survives kstat_delete, but not the process.
 *
 * Creation of a dormant kstat's name returns the same kstat with its old data, kid and ks_crtime.
 * The class, type and number of records must be the same, and KSTAT_FLAG_VIRTUAL is not allowed.
 * kstat_install then calls ks_update with KSTAT_WRITE. The provider thereby continues its own
 * counters from the values that the kstat kept.
 *
 * The chain id changes at kstat_create of a new kstat and at kstat_install. The chain id also
 * changes at kstat_zone_add, kstat_zone_remove and kstat_delete. The chain id does not change when
 * a kstat becomes dormant. A live chain id is never 0 or -1, because those are results of
 * <kstat.h>.
 *
 *
 * 3. How a kstat is read and written
 *
 * The order of calls for one read request, and for one write request:
 *
 *     read                                  write
 *     hold the kstat                        hold the kstat
 *     lock ks_lock                          lock ks_lock
 *     ks_update(ksp, KSTAT_READ)            ks_update(ksp, KSTAT_READ)
 *                                           compare size, ks_ndata and the types of the records
 *     ks_snapshot(ksp, copy, KSTAT_READ)    ks_snapshot(ksp, copy, KSTAT_WRITE)
 *                                           ks_update(ksp, KSTAT_WRITE)
 *     unlock ks_lock                        unlock ks_lock
 *     release the kstat                     release the kstat
 *
 * Each step that fails ends the request with its errno. The errors of the framework itself are:
 *
 *     ENXIO     no kstat of this kid, or the reader's zone does not see the kstat
 *     EAGAIN    the kstat is not installed, or not installed again
 *     EFBIG     read only: ks_data_size is above 64 MiB
 *     ENOMEM    read only: no memory for the copy
 *     EIO       read only: a ks_snapshot of the provider left less than ks_ndata records
 *     EPERM     write only: the reader is neither root nor the user of the provider
 *     EACCES    write only: the kstat has no KSTAT_FLAG_WRITABLE
 *     EINVAL    write only: the size, the number of records or the type of a record differs
 *
 * One read is consistent: ks_lock keeps writers away while the data is copied. Two reads of two
 * kstats are separate moments, each with its own ks_snaptime.
 *
 *
 * 4. Locking, and the threads that may call
 *
 * Three locks exist. A thread takes them in the order of this list, and never in another order:
 *
 *     hold        one per kstat     from kstat_hold_* to kstat_rele; inside every read, write,
 *                                   install and delete; a second thread sleeps until the release
 *     ks_lock     one per kstat,    locked by the framework across ks_update and ks_snapshot, and
 *                 or shared, or     by the provider around each change of the data
 *                 NULL
 *     chain lock  one per process   internal; never locked while a function of the provider runs
 *
 * One ks_lock may serve several kstats, for example all kstats of one device. A kstat without
 * ks_lock suits data that only ks_update changes, or data whose torn copies do no harm.
 *
 *     function                          thread              ks_lock of the kstat    may sleep for
 *     kstat_create*                     any                 unlocked                hold
 *     kstat_install                     any                 unlocked                hold, ks_lock
 *     kstat_delete*                     any                 unlocked, else abort    hold, ks_lock
 *     kstat_hold_*                      any                 unlocked                hold
 *     kstat_rele                        the one that holds  either                  -
 *     kstat_zone_*                      any                 either                  -
 *     kstat_set_string                  any                 locked once installed   -
 *     kstat_named_*, kstat_timer_*      any                 locked once installed   -
 *     kstat_waitq_*, kstat_runq_*       any                 locked, or one thread   -
 *     gethrtime*, scalehrtime           any                 either                  -
 *
 *     ks_update, ks_snapshot            server thread: reads and writes
 *                                       caller of kstat_install: ks_update(KSTAT_WRITE), dormant
 *                                       caller of kstat_delete: ks_update(KSTAT_READ), persistent
 *
 * ks_update and ks_snapshot run with the kstat held and ks_lock locked. Neither function may lock
 * ks_lock, or hold, install or delete the same kstat. A thread that would wait for itself prints
 * one line and aborts, so the mistake never becomes a silent hang.
 *
 * A reader waits one second for an answer, and longer for long data. So ks_update and ks_snapshot
 * must end well before. One server thread answers all readers of the process, one after the other.
 * If one function takes longer, the provider counts as stopped. Reads of all its kstats then fail
 * with ENXIO, until the late answer has come.
 *
 * A child of fork(2) keeps the memory of its parent's kstats, but starts with an empty chain. The
 * child publishes only the kstats that the child creates.
 *
 *
 * 5. Zones
 *
 * A kstat is visible in the zones on its list. kstat_create lists ALL_ZONES, and kstat_create_zone
 * lists one zone. Linux has no zones, so every reader is in the global zone, GLOBAL_ZONEID. A kstat
 * of another zone alone is hidden: a reader gets ENXIO, and no list shows the kstat.
 *
 *
 * 6. Units
 *
 *     time stamps, durations    nanoseconds of CLOCK_MONOTONIC (hrtime_t, signed, 64 bits)
 *     a live kstat_io_t         ticks of gethrtime_unscaled(); a reader's copy is in nanoseconds
 *     wlentime, rlentime        requests times nanoseconds (ticks on a live kstat_io_t)
 *     nread, nwritten           bytes, 64 bits
 *     reads, writes             requests, 32 bits: wrap at 2^32
 *     wcnt, rcnt                requests, 32 bits
 *     ks_data_size              bytes
 *     strings                   bytes, in no particular encoding
 *
 * A tick is one nanosecond unless the program chose the processor's counter as its clock. Values
 * that a provider stamps with gethrtime() then agree with those of the queue functions.
 *
 *
 * 7. Errors
 *
 * kstat_create and its sisters return NULL for a wrong request, after one warning on standard
 * error. A pointer that is no kstat gives one warning, and nothing changes. A broken rule for which
 * the Solaris kernel panics prints one line and aborts the process.
 */
#ifndef _SYS_KSTAT_H
#define _SYS_KSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#ifdef _KERNEL
#include <sys/ksynch.h> /* kmutex_t, which drivers for Solaris take from here */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The integer types of Solaris' <sys/types.h> and <sys/time.h>. C++98 has no long long of its own,
 * so __extension__ silences the compiler there.
 */
typedef unsigned char uchar_t;
typedef unsigned short ushort_t;
typedef unsigned int uint_t;
typedef unsigned long ulong_t;
__extension__ typedef long long longlong_t;
__extension__ typedef unsigned long long u_longlong_t;
typedef longlong_t hrtime_t; /* nanoseconds; ticks in a live kstat_io_t */
typedef int zoneid_t;        /* the number of a zone, or ALL_ZONES */
typedef int netstackid_t;    /* the number of the zone that has the network stack */

/*
 * The number of a kstat in its chain. Numbers grow in the order of creation, and a number is not
 * used again before the numbers wrap at 2^31. 0 and 1 belong to the reader's own kstats
 * unix:0:kstat_headers and unix:0:kstat_types, so a provider's begin at 2.
 */
typedef int kid_t;

/* Bytes of every name field: 30 characters and the NUL. Longer names are cut. */
#define KSTAT_STRLEN 31

/* ks_type: the form of the data section (section 1 of the text above). */
#define KSTAT_TYPE_RAW 0   /* bytes */
#define KSTAT_TYPE_NAMED 1 /* kstat_named_t records */
#define KSTAT_TYPE_INTR 2  /* one kstat_intr_t */
#define KSTAT_TYPE_IO 3    /* one kstat_io_t */
#define KSTAT_TYPE_TIMER 4 /* kstat_timer_t records */
#define KSTAT_NUM_TYPES 5

/*
 * ks_flags, a set. A provider passes the first four to kstat_create:
 *
 *   - VIRTUAL: the data section is memory of the provider, which sets ks_data and frees the memory
 *     after kstat_delete.
 *   - VAR_SIZE: the size of the data changes. ks_update sets ks_data_size, and ks_ndata if records
 *     come and go. Needs VIRTUAL and a ks_lock.
 *   - WRITABLE: root and the provider's own user may write the data. With string records, needs a
 *     ks_snapshot of the provider, because the default cannot store a string.
 *   - PERSISTENT: kstat_delete makes the kstat dormant. Excludes VIRTUAL, because the values must
 *     outlive the provider.
 */
#define KSTAT_FLAG_VIRTUAL 0x01
#define KSTAT_FLAG_VAR_SIZE 0x02
#define KSTAT_FLAG_WRITABLE 0x04
#define KSTAT_FLAG_PERSISTENT 0x08
/* The framework sets the other three, and ignores them in a call of kstat_create. */
#define KSTAT_FLAG_DORMANT 0x10     /* persistent and deleted: the data are the last values */
#define KSTAT_FLAG_INVALID 0x20     /* created and not installed: hidden from readers */
#define KSTAT_FLAG_LONGSTRINGS 0x40 /* a NAMED kstat that has a string record */

/* The direction argument of ks_update and ks_snapshot, seen from the reader. */
#define KSTAT_READ 0  /* out of the provider */
#define KSTAT_WRITE 1 /* into the provider */

/*
 * The header of a kstat. Readers get a copy of every field before ks_update.
 *
 * The framework fills in the header at creation. The provider may set ks_data (VIRTUAL only),
 * ks_update, ks_private, ks_snapshot and ks_lock, between kstat_create and kstat_install. ks_update
 * may change ks_data, ks_ndata and ks_data_size of a VAR_SIZE kstat at any read. The provider does
 * not write to other fields.
 *
 * ks_update(ksp, rw): KSTAT_READ brings ks_data up to date before a copy. KSTAT_WRITE moves new
 * values from ks_data into the provider's own counters. The result is 0 or an errno, which the
 * reader gets; EACCES refuses a write. The default does nothing, except that the default recomputes
 * ks_data_size of a NAMED kstat that has string records or VAR_SIZE.
 *
 * ks_snapshot(ksp, buf, rw): KSTAT_READ copies ks_data_size bytes from ks_data to buf. KSTAT_WRITE
 * copies from buf to ks_data. The function must set ks_snaptime. The result is 0 or an errno. The
 * default also does this in the copy, never in the live data:
 *
 *     NAMED    puts the strings behind the records and sets the copied pointers to them
 *     IO       charges each queue that is not empty up to now, then converts ticks to nanoseconds
 */
typedef struct kstat {
    hrtime_t ks_crtime;           /* nanoseconds: creation; a dormant kstat keeps the first one */
    struct kstat *ks_next;        /* readers only: the next kstat of the chain, or NULL */
    kid_t ks_kid;                 /* the number in the chain */
    char ks_module[KSTAT_STRLEN]; /* first part of the name: the publishing module */
    uchar_t ks_resv;              /* reserved, 0 */
    int ks_instance;              /* second part of the name: the instance of the module */
    char ks_name[KSTAT_STRLEN];   /* third part of the name */
    uchar_t ks_type;              /* KSTAT_TYPE_ */
    char ks_class[KSTAT_STRLEN];  /* a group that readers select by: disk, misc, net, ... */
    uchar_t ks_flags;             /* KSTAT_FLAG_, a set */
    void *ks_data;                /* the data section; NULL in a reader before its first read */
    uint_t ks_ndata;              /* records in the data section; bytes for KSTAT_TYPE_RAW */
    size_t ks_data_size;          /* bytes of the data section, long strings included */
    hrtime_t ks_snaptime;         /* nanoseconds: the last copy; ks_crtime before the first */
    /* The rest has a meaning in the provider only. */
    int (*ks_update)(struct kstat *, int);           /* see above; never NULL */
    void *ks_private;                                /* for the provider; never read here */
    int (*ks_snapshot)(struct kstat *, void *, int); /* see above; never NULL */
    void *ks_lock;                                   /* a kmutex_t of the provider, or NULL */
} kstat_t;

/*
 * kstat_named_t.data_type: the member of `value` that is in use.
 *
 * KSTAT_DATA_LONG and KSTAT_DATA_ULONG follow the width of long. A 32-bit program that a 64-bit
 * compiler builds with -U_LP64 gets the 32-bit types, as on Solaris.
 */
#define KSTAT_DATA_CHAR 0   /* c: up to 16 characters */
#define KSTAT_DATA_INT32 1  /* i32 */
#define KSTAT_DATA_UINT32 2 /* ui32 */
#define KSTAT_DATA_INT64 3  /* i64 */
#define KSTAT_DATA_UINT64 4 /* ui64 */
#define KSTAT_DATA_FLOAT 5  /* f; obsolete: readers need not print this type */
#define KSTAT_DATA_DOUBLE 6 /* d; obsolete, too */
#define KSTAT_DATA_STRING 9 /* str: a string of any length, outside of the record */
/* Other names of the 64-bit types. */
#define KSTAT_DATA_LONGLONG KSTAT_DATA_INT64
#define KSTAT_DATA_ULONGLONG KSTAT_DATA_UINT64
#ifdef _LP64
#define KSTAT_DATA_LONG KSTAT_DATA_INT64
#define KSTAT_DATA_ULONG KSTAT_DATA_UINT64
#else
#define KSTAT_DATA_LONG KSTAT_DATA_INT32
#define KSTAT_DATA_ULONG KSTAT_DATA_UINT32
#endif

/*
 * One named value. The unit is a matter of the name: the record has no field for a unit.
 *
 * In the provider, a string is memory of the provider, and the record has the pointer only. In a
 * reader's copy, the strings lie behind the array of records:
 *
 *     ks_data   +----------+----------+-----+-----------+-----------+
 *               | record 0 | record 1 | ... | "text 0"  | "text 1"  |
 *               +----|-----+----|-----+-----+-^---------+-^---------+
 *                    |          +-------------|-----------+
 *                    +------------------------+
 *
 *     ks_data_size = ks_ndata * sizeof(kstat_named_t) + the sum of value.str.len
 */
typedef struct kstat_named {
    char name[KSTAT_STRLEN]; /* kstat_data_lookup() finds the first record of a name */
    uchar_t data_type;       /* KSTAT_DATA_ */
    union {
        char c[16]; /* not always ended by a NUL */
        int32_t i32;
        uint32_t ui32;
        struct {
            union {
                char *ptr;     /* ended by a NUL, or NULL for no string */
                char __pad[8]; /* gives the union 8 bytes in every data model */
            } addr;
            uint32_t len; /* bytes, the NUL included; 0 for no string */
        } str;
        int64_t i64;
        uint64_t ui64;
        long l;           /* KSTAT_DATA_LONG */
        ulong_t ul;       /* KSTAT_DATA_ULONG */
        longlong_t ll;    /* the same as i64 */
        u_longlong_t ull; /* the same as ui64 */
        float f;
        double d;
    } value;
} kstat_named_t;

/* The string of a KSTAT_DATA_STRING record, and its bytes with the NUL. NULL and 0: no string. */
#define KSTAT_NAMED_STR_PTR(knptr) ((knptr)->value.str.addr.ptr)
#define KSTAT_NAMED_STR_BUFLEN(knptr) ((knptr)->value.str.len)

/* The interrupts of a device by cause: the index of kstat_intr_t.intrs[]. */
#define KSTAT_INTR_HARD 0     /* from the device itself */
#define KSTAT_INTR_SOFT 1     /* from the driver's own software interrupt */
#define KSTAT_INTR_WATCHDOG 2 /* from a timer that polls the device */
#define KSTAT_INTR_SPURIOUS 3 /* without any cause that the driver found */
#define KSTAT_INTR_MULTSVC 4  /* found and served before the return from another one */
#define KSTAT_NUM_INTRS 5

/* Counts of interrupts since creation. Each counter has 32 bits and wraps. */
typedef struct kstat_intr {
    uint_t intrs[KSTAT_NUM_INTRS];
} kstat_intr_t;

/*
 * The two queues of a device.
 *
 *                accept            start              finish
 *     request ----------> wait queue ------> run queue ------>
 *                         wcnt waiting       rcnt running
 *                waitq_enter      waitq_to_runq      runq_exit
 *
 * The wait queue has the requests that the driver accepted and did not start. The run queue has the
 * requests that the device works on. Nothing is summed per request, so the cost of a request does
 * not depend on the length of the queues.
 *
 * The sums change only when the length of a queue changes. Each change charges the interval since
 * the last change at the length that held during the interval:
 *
 *     delta        = now - wlastupdate
 *     wlentime    += delta * wcnt           wcnt before the change
 *     wtime       += delta                  if wcnt was above 0
 *     wlastupdate  = now
 *     wcnt        += 1 at an enter, -= 1 at an exit
 *
 * An example: two requests enter at 100 and 250, and exit at 400 and 1000:
 *
 *     wcnt
 *       2 |          +---------+
 *         |          | 2 * 150 |
 *       1 |    +-----+         +-----------------------+
 *         |    |1*150|         |        1 * 600        |
 *       0 +----+-----+---------+-----------------------+-----> clock
 *             100   250       400                    1000
 *
 *     wlentime = 1 * 150 + 2 * 150 + 1 * 600 = 1050    the area under the line
 *     wtime    =     150 +     150 +     600 =  900    the width of the area
 *
 * The requests stayed 300 and 750, or 900 and 150 if the second one left first. Either pair has the
 * sum 1050. When a queue is empty, its area is the sum of all stays, whatever their order.
 *
 * A reader subtracts two snapshots and divides. T is the time between the snapshots. The number of
 * requests that were completed in T is n, the change of reads + writes:
 *
 *     d(wlentime) / T    mean length of the wait queue                iostat: wait
 *     d(rlentime) / T    mean length of the run queue                 iostat: actv
 *     d(wtime) / T       share of time that the wait queue was used   iostat: %w
 *     d(rtime) / T       share of time that the run queue was used    iostat: %b
 *     d(wlentime) / n    mean time of a request in the wait queue     iostat: wsvc_t
 *     d(rlentime) / n    mean time of a request in the run queue      iostat: asvc_t
 *
 * The last two lines are Little's law: the mean length is the mean stay times n / T.
 *
 * Laws that hold for every snapshot: wtime is at most the time since creation. wlentime is at least
 * wtime. The same is true of rtime and rlentime.
 *
 * The driver changes nread, nwritten, reads and writes. The queue functions change the other eight.
 * A driver counts a finished request and calls runq_exit under one lock of ks_lock. Otherwise a
 * snapshot may find a request that is finished and not counted.
 */
typedef struct kstat_io {
    u_longlong_t nread;    /* bytes read */
    u_longlong_t nwritten; /* bytes written */
    uint_t reads;          /* completed reads; wraps at 2^32 */
    uint_t writes;         /* completed writes; wraps at 2^32 */
    hrtime_t wtime;        /* time that the wait queue was not empty */
    hrtime_t wlentime;     /* integral of wcnt over time: requests times time */
    hrtime_t wlastupdate;  /* clock at the last change of wcnt */
    hrtime_t rtime;        /* time that the run queue was not empty */
    hrtime_t rlentime;     /* integral of rcnt over time: requests times time */
    hrtime_t rlastupdate;  /* clock at the last change of rcnt */
    uint_t wcnt;           /* requests in the wait queue now */
    uint_t rcnt;           /* requests in the run queue now */
} kstat_io_t;

/*
 * The durations of one kind of event. An event begins at kstat_timer_start and ends at
 * kstat_timer_stop. Events of one timer do not overlap and do not nest. All times are nanoseconds.
 */
typedef struct kstat_timer {
    char name[KSTAT_STRLEN];
    uchar_t resv;            /* reserved, 0 */
    u_longlong_t num_events; /* events that have ended */
    hrtime_t elapsed_time;   /* the sum of their durations */
    hrtime_t min_time;       /* the shortest duration; 0 before the first event has ended */
    hrtime_t max_time;       /* the longest duration */
    hrtime_t start_time;     /* when the last event began */
    hrtime_t stop_time;      /* when the last event ended */
} kstat_timer_t;

/*
 * The data section as a pointer of the type. The caller checks ks_type first: no macro does. In C++
 * the cast is a static_cast, because a user may compile with -Wold-style-cast.
 */
#ifdef __cplusplus
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type in parentheses is none */
#define KSTAT_DATA_AS(type, kptr) (static_cast<type *>((kptr)->ks_data))
#else
#define KSTAT_DATA_AS(type, kptr) ((type *)(kptr)->ks_data)
#endif
#define KSTAT_NAMED_PTR(kptr) KSTAT_DATA_AS(kstat_named_t, kptr)
#define KSTAT_INTR_PTR(kptr) KSTAT_DATA_AS(kstat_intr_t, kptr)
#define KSTAT_IO_PTR(kptr) KSTAT_DATA_AS(kstat_io_t, kptr)
#define KSTAT_TIMER_PTR(kptr) KSTAT_DATA_AS(kstat_timer_t, kptr)

/*
 * The ioctl numbers of Solaris' /dev/kstat, for source that names them. This system has no such
 * device: the requests travel on the socket of a provider, with numbers of their own.
 */
#define KSTAT_IOC_BASE ('K' << 8)
#define KSTAT_IOC_CHAIN_ID (KSTAT_IOC_BASE | 0x01)
#define KSTAT_IOC_READ (KSTAT_IOC_BASE | 0x02)
#define KSTAT_IOC_WRITE (KSTAT_IOC_BASE | 0x03)

#define GLOBAL_ZONEID 0     /* the zone of every reader */
#define ALL_ZONES (-1)      /* a kstat's list: every zone; a search: whatever zone sees the kstat */
#define GLOBAL_NETSTACKID 0 /* the network stack of the global zone */

/* ---- Creation, installation and deletion. Link libkstat_provider. ---- */

/*
 * Creates a kstat, which readers do not see before kstat_install. kstat_create makes the kstat
 * visible to all zones, kstat_create_zone to one.
 *
 *     module, instance, name    the full name; a NULL name means the module and the instance, "sd3"
 *     ks_class                  see ks_class
 *     type, ndata               KSTAT_TYPE_ and the number of records (section 1)
 *     flags                     VIRTUAL, VAR_SIZE, WRITABLE and PERSISTENT; others are ignored
 *
 * Ownership: the kstat belongs to the framework until kstat_delete. Strings are copied. The data
 *            section belongs to the framework too, except with KSTAT_FLAG_VIRTUAL.
 * Threads:   any. Waits while another thread holds a kstat of the same name.
 * Errors:    NULL, and one warning with the reason on standard error. The type or
 *            ndata may be out of range. Two flags may exclude each other. The name may be in use,
 *            or its dormant kstat may have another form. Memory may be short.
 * Source:    kstat_create(9F).
 */
kstat_t *kstat_create(const char *module, int instance, const char *name, const char *ks_class,
                      uchar_t type, uint_t ndata, uchar_t flags);
kstat_t *kstat_create_zone(const char *module, int instance, const char *name, const char *ks_class,
                           uchar_t type, uint_t ndata, uchar_t flags, zoneid_t zone);

/*
 * Makes the kstat visible. The first installation of a process also opens the process's socket in
 * the run directory, for readers. The server thread starts at the same time, unless a thread of the
 * program serves readers already.
 *
 * Threads: any. The caller does not lock ks_lock. ks_update runs before the return if the kstat
 *          was dormant; an error from that call is ignored.
 * Errors:  an unknown pointer gives one warning. A failure to open the socket gives one warning per
 *          process, and the program continues without readers. A VAR_SIZE kstat without ks_lock
 *          aborts. A WRITABLE kstat with strings and the default ks_snapshot aborts.
 * Source:  kstat_install(9F).
 */
void kstat_install(kstat_t *ksp);

/*
 * Removes the kstat from the chain and frees the kstat, after waiting for the thread that holds it.
 * A persistent kstat becomes dormant instead: ks_update reads the last values. The framework then
 * resets ks_update, ks_snapshot, ks_lock and ks_private to the defaults. No function of the
 * provider runs after the return, so the provider may free what those functions use.
 *
 * The _byname forms find the kstat by its name, and do nothing if the name is not in use.
 *
 * Threads: any, but not from ks_update or ks_snapshot of the same kstat.
 * Errors:  NULL does nothing. An unknown pointer gives one warning. A caller that has locked
 *          ks_lock aborts: the thread that holds the kstat might wait for that lock.
 * Source:  kstat_delete(9F).
 */
void kstat_delete(kstat_t *ksp);
void kstat_delete_byname(const char *module, int instance, const char *name);
void kstat_delete_byname_zone(const char *module, int instance, const char *name, zoneid_t zone);

/* ---- Zones. ---- */

/*
 * Adds a zone to the list of a kstat, or removes a zone from the list. Either one changes the chain
 * id. kstat_zone_find returns 1 if the zone sees the kstat, else 0. Two kstats may have one name if
 * no zone sees both.
 *
 * Threads: any; never waits for a hold, so ks_update may call these.
 * Errors:  one warning for an unknown kstat, or for the removal of a zone that is not on the list.
 */
void kstat_zone_add(kstat_t *ksp, zoneid_t zone);
void kstat_zone_remove(kstat_t *ksp, zoneid_t zone);
int kstat_zone_find(kstat_t *ksp, zoneid_t zone);

/*
 * For drivers that publish per network stack. A stack has the number of its zone here, so these are
 * kstat_create_zone and kstat_delete under other names.
 */
kstat_t *kstat_create_netstack(const char *module, int instance, const char *name,
                               const char *ks_class, uchar_t type, uint_t ndata, uchar_t flags,
                               netstackid_t stack);
void kstat_delete_netstack(kstat_t *ksp, netstackid_t stack);

/*
 * The ks_update of a kstat whose provider sets none, for a provider that names it, or puts it back:
 * nothing is to be done before a read.
 *
 * Results: 0.
 * Threads: any.
 */
int default_kstat_update(kstat_t *ksp, int rw);

/* ---- Holds. ---- */

/*
 * The exclusive use of one kstat. While a thread holds a kstat, reads, writes, installation and
 * deletion by other threads wait for kstat_rele. A hold does not lock ks_lock, so the provider's
 * own threads continue to count.
 *
 * Results: the kstat, or NULL if no kstat of that kid or name is visible in the zone. ALL_ZONES
 *          searches without regard to zones. The kstat may be invisible to readers (INVALID).
 * Threads: any; the thread that holds the kstat calls kstat_rele. A thread that holds the kstat
 *          already, or that deletes a kstat while holding it, prints one line and aborts.
 */
kstat_t *kstat_hold_bykid(kid_t kid, zoneid_t zone);
kstat_t *kstat_hold_byname(const char *module, int instance, const char *name, zoneid_t zone);
void kstat_rele(kstat_t *ksp);

/* ---- Filling in records. ---- */

/*
 * These functions change only the memory that they are given. The caller keeps other threads away:
 * before kstat_install nothing is needed, and later the caller locks ks_lock.
 */

/* Clears all 31 bytes of dst, then copies at most 30 characters of src. */
void kstat_set_string(char *dst, const char *src);
/* Sets the name and the type. The value stays as it is, but a string becomes NULL. */
void kstat_named_init(kstat_named_t *knp, const char *name, uchar_t data_type);
/*
 * Sets the value of a string record; another type aborts. The record stores the pointer and
 * strlen(src) + 1. The string must stay valid and unchanged as long as the record points to it.
 * NULL is the value "no string". kstat_install looks for string records. A kstat that gets its
 * first one later has no room for strings, and readers get NULL.
 */
void kstat_named_setstr(kstat_named_t *knp, const char *src);
/* Sets the name. The counters stay as they are: zero in a new kstat. */
void kstat_timer_init(kstat_timer_t *ktp, const char *name);
/* Begins an event now. */
void kstat_timer_start(kstat_timer_t *ktp);
/* Ends the event now and adds its duration to the sums. */
void kstat_timer_stop(kstat_timer_t *ktp);

/* ---- Queue accounting: see kstat_io_t. ---- */

/*
 * One function for each step of a request:
 *
 *     kstat_waitq_enter           the driver accepts the request
 *     kstat_waitq_to_runq         the device starts the request
 *     kstat_runq_exit             the device finishes the request
 *     kstat_runq_back_to_waitq    the device could not start the request after all
 *     kstat_waitq_exit            the driver drops the request before the start
 *     kstat_runq_enter            the device starts a request that did not wait
 *
 * The two functions that move a request read the clock once for both queues. No time between the
 * queues is lost or counted twice. A request that enters and never exits makes the device look busy
 * for ever.
 *
 * Units:   kiop is live: its times are ticks of gethrtime_unscaled().
 * Threads: any. The caller locks ks_lock, or is the only thread that changes this kstat_io_t.
 * Errors:  an exit from an empty queue aborts.
 * Source:  kstat_queue(9F).
 */
void kstat_waitq_enter(kstat_io_t *kiop);
void kstat_waitq_exit(kstat_io_t *kiop);
void kstat_runq_enter(kstat_io_t *kiop);
void kstat_runq_exit(kstat_io_t *kiop);
void kstat_waitq_to_runq(kstat_io_t *kiop);
void kstat_runq_back_to_waitq(kstat_io_t *kiop);

/* ---- Clocks. ---- */

/*
 * The clock of the queue functions, in ticks, and the conversion in place from ticks to nanoseconds
 * of CLOCK_MONOTONIC. The reading waits for earlier instructions to finish. Two threads that pass a
 * kstat_io_t to each other under a lock therefore never see the clock run backwards.
 *
 * Threads: any.
 */
hrtime_t gethrtime_unscaled(void);
void scalehrtime(hrtime_t *ticks);

/*
 * CLOCK_MONOTONIC in nanoseconds. The function is inline, so readers need no library for it.
 * Threads: any.
 */
#ifdef CLOCK_MONOTONIC
static __inline__ hrtime_t gethrtime(void) {
    struct timespec now;
    hrtime_t ns;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = now.tv_sec;
    return ns * 1000000000 + now.tv_nsec;
}
#else
/*
 * With -std=c99 and no feature test macro, <time.h> hides CLOCK_MONOTONIC and clock_gettime. The C
 * library still has the function, so the header declares it under another name.
 */
struct kstat_timespec {
    long tv_sec;
    long tv_nsec;
};
int kstat_clock_gettime(int clock, struct kstat_timespec *now) __asm__("clock_gettime");

static __inline__ hrtime_t gethrtime(void) {
    struct kstat_timespec now;
    hrtime_t ns;
    kstat_clock_gettime(1, &now); /* 1: the number of CLOCK_MONOTONIC on Linux */
    ns = now.tv_sec;
    return ns * 1000000000 + now.tv_nsec;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
