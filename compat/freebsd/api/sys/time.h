/*
 * An addition to the C library's own <sys/time.h>: the binary times of FreeBSD, their clock, and
 * struct clockinfo.
 *
 *     struct bintime   seconds, and a fraction in units of 2^-64 s; never negative in its fraction
 *     sbintime_t       one number of 2^-32 s
 *
 * Conversions round towards the past, except those from decimal units to an sbintime_t. Such a
 * conversion rounds up, so a conversion and its reverse give the first number.
 *
 * Threads: any; each function changes its arguments only.
 * Source:  bintime(9), microuptime(9), timespecadd(3).
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_TIME_H
#define _BLKSCOPE_FREEBSD_SYS_TIME_H

#pragma GCC system_header /* for include_next */

#include <stdint.h>
#include_next <sys/time.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A time or a length of time: sec + frac / 2^64 seconds. A negative time has a negative sec. */
#ifndef _BLKSCOPE_BINTIME
#define _BLKSCOPE_BINTIME
struct bintime {
    time_t sec;    /* whole seconds, rounded towards the past */
    uint64_t frac; /* units of 2^-64 s */
};
#endif

/* Set to 0, test for 0, compare with an operator such as <. Arguments are evaluated twice. */
#define bintime_clear(a) ((a)->sec = (a)->frac = 0)
#define bintime_isset(a) ((a)->sec || (a)->frac)
#define bintime_cmp(a, b, operator_) \
    ((a)->sec == (b)->sec ? ((a)->frac operator_(b)->frac) : ((a)->sec operator_(b)->sec))

/* Adds `fraction` units of 2^-64 s. */
static __inline__ void bintime_addx(struct bintime *to, uint64_t fraction) {
    to->frac += fraction;
    if (to->frac < fraction) to->sec++;
}

/* *to += *from. The sum must fit into a time_t. */
static __inline__ void bintime_add(struct bintime *to, const struct bintime *from) {
    bintime_addx(to, from->frac);
    to->sec += from->sec;
}

/* *from -= *what. */
static __inline__ void bintime_sub(struct bintime *from, const struct bintime *what) {
    if (from->frac < what->frac) from->sec--;
    from->frac -= what->frac;
    from->sec -= what->sec;
}

/* *time_ *= times. */
static __inline__ void bintime_mul(struct bintime *time_, unsigned int times) {
    const uint64_t low = (time_->frac & 0xffffffffu) * times;
    const uint64_t high = (time_->frac >> 32) * times + (low >> 32);
    time_->sec = time_->sec * times + (time_t)(high >> 32);
    time_->frac = high << 32 | (low & 0xffffffffu);
}

/* Multiplies by 2^by. `by` is between -63 and 63. */
static __inline__ void bintime_shift(struct bintime *time_, int by) {
    if (by > 0) {
        time_->sec = (time_t)((uint64_t)time_->sec << by | time_->frac >> (64 - by));
        time_->frac <<= by;
    } else if (by < 0) {
        time_->frac = time_->frac >> -by | (uint64_t)time_->sec << (64 + by);
        time_->sec >>= -by;
    }
}

/* Convert a fraction to decimal parts of a second, and back. A second has `parts` of the parts. */
static __inline__ long _blkscope_parts_of(uint64_t fraction, uint64_t parts) {
    return (long)((fraction >> 32) * parts >> 32);
}
static __inline__ uint64_t _blkscope_fraction_of(long part, uint64_t parts) {
    return (uint64_t)part * (UINT64_MAX / parts);
}

/* To and from nanoseconds (timespec) and microseconds (timeval). */
static __inline__ void bintime2timespec(const struct bintime *from, struct timespec *to) {
    to->tv_sec = from->sec;
    to->tv_nsec = _blkscope_parts_of(from->frac, 1000000000);
}
static __inline__ void timespec2bintime(const struct timespec *from, struct bintime *to) {
    to->sec = from->tv_sec;
    to->frac = _blkscope_fraction_of(from->tv_nsec, 1000000000);
}
static __inline__ void bintime2timeval(const struct bintime *from, struct timeval *to) {
    to->tv_sec = from->sec;
    to->tv_usec = _blkscope_parts_of(from->frac, 1000000);
}
static __inline__ void timeval2bintime(const struct timeval *from, struct bintime *to) {
    to->sec = from->tv_sec;
    to->frac = _blkscope_fraction_of(from->tv_usec, 1000000);
}

/* Lengths of time as an sbintime_t, rounded down. */
#define SBT_1S ((sbintime_t)1 << 32)  /* a second */
#define SBT_1M (SBT_1S * 60)          /* a minute */
#define SBT_1MS (SBT_1S / 1000)       /* a millisecond */
#define SBT_1US (SBT_1S / 1000000)    /* a microsecond */
#define SBT_1NS (SBT_1S / 1000000000) /* a nanosecond: 4, not 4.29, so sums of this are too small */
#define SBT_MAX INT64_MAX             /* the longest time: about 68 years */

/* Whole seconds, rounded down. */
static __inline__ int sbintime_getsec(sbintime_t sbt) {
    return (int)(sbt >> 32);
}

/* To and from a bintime, whose lower 32 bits of the fraction are dropped. */
static __inline__ struct bintime sbttobt(sbintime_t sbt) {
    struct bintime time_;
    time_.sec = (time_t)(sbt >> 32);
    time_.frac = (uint64_t)sbt << 32;
    return time_;
}
static __inline__ sbintime_t bttosbt(const struct bintime time_) {
    return (sbintime_t)((uint64_t)time_.sec << 32 | time_.frac >> 32);
}

/* To decimal units, rounded down, and from decimal units, rounded up. */
static __inline__ int64_t _blkscope_from_sbt(sbintime_t sbt, int64_t parts) {
    return (sbt >> 32) * parts + (int64_t)(((uint64_t)sbt & 0xffffffffu) * (uint64_t)parts >> 32);
}
static __inline__ sbintime_t _blkscope_to_sbt(int64_t units, int64_t parts) {
    int64_t seconds = units / parts;
    int64_t rest = units % parts;
    if (rest < 0) {
        --seconds;
        rest += parts;
    }
    return (sbintime_t)((uint64_t)seconds << 32) + ((rest << 32) + parts - 1) / parts;
}

/* To nanoseconds, microseconds and milliseconds: at most the given time. */
static __inline__ int64_t sbttons(sbintime_t sbt) {
    return _blkscope_from_sbt(sbt, 1000000000);
}
static __inline__ int64_t sbttous(sbintime_t sbt) {
    return _blkscope_from_sbt(sbt, 1000000);
}
static __inline__ int64_t sbttoms(sbintime_t sbt) {
    return _blkscope_from_sbt(sbt, 1000);
}
/* From nanoseconds, microseconds and milliseconds: at least the given time. The time must be within
 * SBT_MAX. */
static __inline__ sbintime_t nstosbt(int64_t ns) {
    return _blkscope_to_sbt(ns, 1000000000);
}
static __inline__ sbintime_t ustosbt(int64_t us) {
    return _blkscope_to_sbt(us, 1000000);
}
static __inline__ sbintime_t mstosbt(int64_t ms) {
    return _blkscope_to_sbt(ms, 1000);
}

/* To and from the structs of the C library. */
static __inline__ struct timespec sbttots(sbintime_t sbt) { /* tv_nsec is 0 to 999999999 */
    struct timespec time_;
    time_.tv_sec = (time_t)(sbt >> 32);
    time_.tv_nsec = (long)sbttons((sbintime_t)((uint64_t)sbt & 0xffffffffu));
    return time_;
}
static __inline__ sbintime_t tstosbt(struct timespec time_) {
    return (sbintime_t)((uint64_t)time_.tv_sec << 32) + nstosbt(time_.tv_nsec);
}
static __inline__ struct timeval sbttotv(sbintime_t sbt) { /* tv_usec is 0 to 999999 */
    struct timeval time_;
    time_.tv_sec = (time_t)(sbt >> 32);
    time_.tv_usec = (suseconds_t)sbttous((sbintime_t)((uint64_t)sbt & 0xffffffffu));
    return time_;
}
static __inline__ sbintime_t tvtosbt(struct timeval time_) {
    return (sbintime_t)((uint64_t)time_.tv_sec << 32) + ustosbt(time_.tv_usec);
}

/* The same for a timespec, whose tv_nsec stays between 0 and 999999999. */
#define timespecclear(a) ((a)->tv_sec = (a)->tv_nsec = 0)
#define timespecisset(a) ((a)->tv_sec || (a)->tv_nsec)
#define timespeccmp(a, b, operator_)                                   \
    ((a)->tv_sec == (b)->tv_sec ? ((a)->tv_nsec operator_(b)->tv_nsec) \
                                : ((a)->tv_sec operator_(b)->tv_sec))
#define timespecadd(a, b, sum)                        \
    do {                                              \
        (sum)->tv_sec = (a)->tv_sec + (b)->tv_sec;    \
        (sum)->tv_nsec = (a)->tv_nsec + (b)->tv_nsec; \
        if ((sum)->tv_nsec >= 1000000000L) {          \
            (sum)->tv_sec++;                          \
            (sum)->tv_nsec -= 1000000000L;            \
        }                                             \
    } while (0)
/* The difference may be negative. tv_sec is then negative, and tv_nsec still counts forward. */
#define timespecsub(a, b, difference)                        \
    do {                                                     \
        (difference)->tv_sec = (a)->tv_sec - (b)->tv_sec;    \
        (difference)->tv_nsec = (a)->tv_nsec - (b)->tv_nsec; \
        if ((difference)->tv_nsec < 0) {                     \
            (difference)->tv_sec--;                          \
            (difference)->tv_nsec += 1000000000L;            \
        }                                                    \
    } while (0)

/*
 * The time since the machine started, without the time of its sleep: CLOCK_MONOTONIC. The times of
 * devicestat(9) are on the same clock. A driver may pass a time of binuptime() to
 * devstat_start_transaction().
 *
 *     nanouptime     struct timespec
 *     microuptime    struct timeval
 *     binuptime      struct bintime
 *     sbinuptime     sbintime_t, the result
 *
 * On FreeBSD the get functions cost less, and are a tick behind at most. Here the get functions are
 * exact, because a read of the clock takes some nanoseconds only.
 *
 * Threads: any.
 * Source:  microuptime(9).
 */
static __inline__ void nanouptime(struct timespec *now) {
    clock_gettime(CLOCK_MONOTONIC, now);
}
static __inline__ void binuptime(struct bintime *now) {
    struct timespec ts;
    nanouptime(&ts);
    timespec2bintime(&ts, now);
}
static __inline__ void microuptime(struct timeval *now) {
    struct timespec ts;
    nanouptime(&ts);
    now->tv_sec = ts.tv_sec;
    now->tv_usec = ts.tv_nsec / 1000;
}
static __inline__ sbintime_t sbinuptime(void) {
    struct timespec ts;
    nanouptime(&ts);
    return tstosbt(ts);
}

/* The same functions by the names that ask for less exactness. */
#define getnanouptime(now) nanouptime(now)
#define getbinuptime(now) binuptime(now)
#define getmicrouptime(now) microuptime(now)
#define getsbinuptime() sbinuptime()

/* The value of sysctl kern.clockrate. */
struct clockinfo {
    int hz;     /* ticks in a second */
    int tick;   /* microseconds in a tick */
    int spare;  /* no meaning */
    int stathz; /* ticks in a second of kern.cp_time and kern.cp_times */
    int profhz; /* ticks in a second of profiles */
};

#ifdef __cplusplus
}
#endif

#endif
