/*
 * Statistics of anything that has values: sums, extremes, histograms and t-digests, in one piece of
 * memory without pointers.
 *
 * Source and binary compatible with <sys/stats.h> of FreeBSD 13 and later (ABI 1, 64-bit machines):
 * same names, same layouts. Written anew, after stats(3). Link libstats, and libsbuf to render.
 *
 * A variable of interest (VOI) is a thing that has values, such as a latency. A template lists the
 * VOIs, their types, and the statistics of each. A blob is created from a template. A program feeds
 * values to the blob, and then copies, reads, renders or walks the blob.
 *
 *     template "requests"                      blob: one piece of memory, no pointers
 *       VOI 0 "latency", u64                   +--------+-------+-------------------------+
 *         SUM, MAX, t-digest      --alloc-->   | header | VOI 0 | SUM | MAX | t-digest    |
 *                                              +--------+-------+-------------------------+
 *
 *     struct voistatspec vss[] = {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_TDGSTCLUST64(100, 16)};
 *     int tpl = stats_tpl_alloc("requests", 0);
 *     stats_tpl_add_voistats(tpl, 0, "latency", VSD_DTYPE_INT_U64, NVSS(vss), vss, 0);
 *     struct statsblob *sb = stats_blob_alloc(tpl, 0);
 *     stats_voi_update_abs_u64(sb, 0, nanoseconds);
 *     stats_blob_destroy(sb);
 *
 * Units:     sizes in bytes; the unit of a value is a matter of its VOI.
 * Ownership: stats_blob_destroy frees a blob that the library allocated. Templates stay for ever.
 * Threads:   the caller locks a blob. The library locks its templates.
 * Errors:    an errno value. A function that returns an id returns the errno negative.
 * Source:    stats(3).
 *
 * <blkscope/stats.h> adds quantiles, the merging of blobs and the check of foreign blobs.
 */
#ifndef _SYS_STATS_H_
#define _SYS_STATS_H_

#include <blkscope/sysctl_req.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/arb.h>
#include <sys/qmath.h>

#pragma GCC system_header /* flexible arrays in unions, as the original's */

#ifndef EFTYPE
#define EFTYPE 79 /* a wrong type: FreeBSD's number */
#endif

/* Macros in code that FreeBSD shares between its kernel and programs; no effect here. */
#ifndef VNET
#define VNET(n) n                                                /* a variable of a network stack */
#define VNET_DEFINE(t, n) static t n __attribute__((__unused__)) /* its definition */
#endif

#define TPL_MAX_NAME_LEN 64 /* bytes of a template's name, the NUL included */
#define STATS_TPL_MAX_STR_SPEC_LEN (TPL_MAX_NAME_LEN + 13) /* "name":hash */

struct sbuf;

/* The forms of rendered text: FREEFORM is for people, and JSON is one object in one line. */
enum sb_str_fmt { SB_STRFMT_FREEFORM = 0, SB_STRFMT_JSON, SB_STRFMT_NUM_FMTS };

/* Kinds of statistics. VOISTATE keeps the last value of a VOI with relative updates. */
enum voi_stype {
    VS_STYPE_VOISTATE = 0, /* the last value, for relative updates */
    VS_STYPE_SUM,          /* the sum of all values */
    VS_STYPE_MAX,          /* the largest value */
    VS_STYPE_MIN,          /* the smallest value */
    VS_STYPE_HIST,         /* counts of values in buckets */
    VS_STYPE_TDGST,        /* a t-digest: quantiles in bounded memory */
    VS_NUM_STYPES          /* the number of kinds */
};

/*
 * Types of values and of stored statistics. The histograms count in continuous ranges (CR),
 * discrete ranges (DR) or discrete values (DV). The number at the end is the width of a counter in
 * bits.
 */
enum vsd_dtype {
    VSD_DTYPE_VOISTATE = 0, /* the library's own */
    VSD_DTYPE_INT_S32,      /* int32_t */
    VSD_DTYPE_INT_U32,      /* uint32_t */
    VSD_DTYPE_INT_S64,      /* int64_t */
    VSD_DTYPE_INT_U64,      /* uint64_t */
    VSD_DTYPE_INT_SLONG,    /* long */
    VSD_DTYPE_INT_ULONG,    /* unsigned long */
    VSD_DTYPE_Q_S32,        /* s32q_t of <sys/qmath.h> */
    VSD_DTYPE_Q_U32,        /* u32q_t */
    VSD_DTYPE_Q_S64,        /* s64q_t */
    VSD_DTYPE_Q_U64,        /* u64q_t; the types of values end here */
    VSD_DTYPE_CRHIST32,     /* struct voistatdata_crhist32 */
    VSD_DTYPE_DRHIST32,     /* struct voistatdata_drhist32 */
    VSD_DTYPE_DVHIST32,     /* struct voistatdata_dvhist32 */
    VSD_DTYPE_CRHIST64,     /* struct voistatdata_crhist64 */
    VSD_DTYPE_DRHIST64,     /* struct voistatdata_drhist64 */
    VSD_DTYPE_DVHIST64,     /* struct voistatdata_dvhist64 */
    VSD_DTYPE_TDGSTCLUST32, /* struct voistatdata_tdgstclust32 */
    VSD_DTYPE_TDGSTCLUST64, /* struct voistatdata_tdgstclust64 */
    VSD_NUM_DTYPES          /* the number of types */
};

/*
 * The stored data of a statistic. A blob has no padding between statistics. Data of 64 bits may
 * therefore lie at an odd multiple of 4: copy with memcpy.
 */
struct voistatdata_int32 { /* VSD_DTYPE_INT_S32, _U32 */
    union {
        int32_t s32;
        uint32_t u32;
    };
};

struct voistatdata_int64 { /* VSD_DTYPE_INT_S64, _U64 */
    union {
        int64_t s64;
        uint64_t u64;
    };
};

struct voistatdata_intlong { /* VSD_DTYPE_INT_SLONG, _ULONG: 64 bits here */
    union {
        long slong;
        unsigned long ulong;
    };
};

struct voistatdata_q32 { /* VSD_DTYPE_Q_S32, _U32 */
    union {
        s32q_t sq32;
        u32q_t uq32;
    };
};

struct voistatdata_q64 { /* VSD_DTYPE_Q_S64, _U64 */
    union {
        s64q_t sq64;
        u64q_t uq64;
    };
};

/* Any value in 64 bits. A narrower value lies in the less significant bits. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define STATS_PAD_BEFORE_ uint32_t pad;
#define STATS_PAD_BEHIND_
#else
#define STATS_PAD_BEFORE_
#define STATS_PAD_BEHIND_ uint32_t pad;
#endif
struct voistatdata_numeric {
    union {
        struct {
            STATS_PAD_BEFORE_
            union {
                int32_t s32;
                uint32_t u32;
            };
            STATS_PAD_BEHIND_
        } int32;
        struct {
            STATS_PAD_BEFORE_
            union {
                s32q_t sq32;
                u32q_t uq32;
            };
            STATS_PAD_BEHIND_
        } q32;
        struct voistatdata_intlong intlong;
        struct voistatdata_int64 int64;
        struct voistatdata_q64 q64;
    };
};
#undef STATS_PAD_BEFORE_
#undef STATS_PAD_BEHIND_

/*
 * Histograms. oob counts values outside of all buckets. A lower bound (lb) belongs to its bucket,
 * an upper bound (ub) does not. A continuous range ends at the next lower bound; the last has no
 * end.
 *
 *     CR    lb0      lb1      lb2            DR    lb0   ub0    lb1  ub1       DV    val0   val1
 *           [ cnt0 ) [ cnt1 ) [ cnt2 ...           [ cnt0 )     [ cnt1 )             cnt0   cnt1
 */
struct voistatdata_crhist32 {
    uint32_t oob; /* values below the first bound */
    struct {
        struct voistatdata_numeric lb; /* the first value of the bucket, in the type of the VOI */
        uint32_t cnt;                  /* values in the bucket; wraps */
    } bkts[];                          /* in ascending order, as many as the data has room for */
};

struct voistatdata_crhist64 {
    uint64_t oob; /* as above; a count does not wrap in practice */
    struct {
        struct voistatdata_numeric lb;
        uint64_t cnt;
    } bkts[];
};

struct voistatdata_drhist32 {
    uint32_t oob; /* values in no bucket */
    struct {
        struct voistatdata_numeric lb, ub; /* the first value, and the first one behind it */
        uint32_t cnt;
    } bkts[]; /* where buckets overlap, the last one counts */
};

struct voistatdata_drhist64 {
    uint64_t oob;
    struct {
        struct voistatdata_numeric lb, ub;
        uint64_t cnt;
    } bkts[];
};

struct voistatdata_dvhist32 {
    uint32_t oob; /* all other values */
    struct {
        struct voistatdata_numeric val; /* the value that the bucket counts */
        uint32_t cnt;
    } bkts[];
};

struct voistatdata_dvhist64 {
    uint64_t oob;
    struct {
        struct voistatdata_numeric val;
        uint64_t cnt;
    } bkts[];
};

/* Any histogram. Its type is in the statistic, not in its data. */
struct voistatdata_hist {
    union {
        struct voistatdata_crhist32 crhist32;
        struct voistatdata_crhist64 crhist64;
        struct voistatdata_dvhist32 dvhist32;
        struct voistatdata_dvhist64 dvhist64;
        struct voistatdata_drhist32 drhist32;
        struct voistatdata_drhist64 drhist64;
    };
};

/*
 * t-digests: centroids in a tree that is ordered by mu. A centroid stands for cnt values with the
 * mean mu. smplcnt is the sum of all cnt. compcnt is the number of compressions, which merge
 * centroids to make room.
 */
struct voistatdata_tdgstctd32 {
    ARB16_ENTRY() ctdlnk; /* the links of the tree */
    s32q_t mu;            /* the mean, in the unit of the VOI */
    int32_t cnt;          /* the number of values */
};

struct voistatdata_tdgstctd64 {
    ARB16_ENTRY() ctdlnk; /* as above */
    s64q_t mu;
    int64_t cnt;
};

/* A centroid of either width. */
struct voistatdata_tdgstctd {
    union {
        struct voistatdata_tdgstctd32 tdgstctd32;
        struct voistatdata_tdgstctd64 tdgstctd64;
    };
};

struct voistatdata_tdgstclust32 {
    uint32_t smplcnt;                                    /* values */
    uint32_t compcnt;                                    /* compressions */
    ARB16_HEAD(ctdth32, voistatdata_tdgstctd32) ctdtree; /* the centroids by mu */
};

struct voistatdata_tdgstclust64 {
    uint64_t smplcnt; /* as above */
    uint32_t compcnt;
    ARB16_HEAD(ctdth64, voistatdata_tdgstctd64) ctdtree;
};

/* A t-digest of either width. */
struct voistatdata_tdgst {
    union {
        struct voistatdata_tdgstclust32 tdgstclust32;
        struct voistatdata_tdgstclust64 tdgstclust64;
    };
};

/* The data of any statistic. Its type says which member is valid. */
struct voistatdata {
    union {
        struct voistatdata_int32 int32;
        struct voistatdata_int64 int64;
        struct voistatdata_intlong intlong;
        struct voistatdata_q32 q32;
        struct voistatdata_q64 q64;
        struct voistatdata_crhist32 crhist32;
        struct voistatdata_crhist64 crhist64;
        struct voistatdata_dvhist32 dvhist32;
        struct voistatdata_dvhist64 dvhist64;
        struct voistatdata_drhist32 drhist32;
        struct voistatdata_drhist64 drhist64;
        struct voistatdata_tdgstclust32 tdgstclust32;
        struct voistatdata_tdgstclust64 tdgstclust64;
    };
};

/* Specifications of statistics. A helper computes the initial data (iv, vsdsz) from its hlprinfo.
 * A specification without a helper has initial data of the caller. */
#define VSD_HIST_LBOUND_INF 0x01 /* adds a first bucket, from the type's smallest value */
#define VSD_HIST_UBOUND_INF 0x02 /* adds a last bucket, to the largest */

/* The bounds of one bucket. */
struct stats_hist_bkt {
    struct voistatdata_numeric lb, ub;
};

/*
 * The buckets of a histogram between lb and ub. LIN has buckets of one width, and EXP widths that
 * grow as a power. LINEXP divides each power into equal steps. USR has a list of the caller. The
 * caller owns the struct and the list, which must exist until the template has the VOI.
 */
struct vss_hist_hlpr_info {
    enum hist_bkt_alloc { BKT_LIN, BKT_EXP, BKT_LINEXP, BKT_USR } scheme;
    enum vsd_dtype voi_dtype;      /* not read: the helper gets the type of the VOI */
    enum vsd_dtype hist_dtype;     /* DV with USR only */
    uint32_t flags;                /* VSD_HIST_ */
    struct voistatdata_numeric lb; /* a Q number if the VOI is one; steps are integers */
    struct voistatdata_numeric ub; /* lies in the last bucket */
    union {
        struct {
            uint64_t stepinc; /* the width of a bucket */
        } lin;
        struct {
            uint64_t stepbase; /* the base of the powers */
            uint64_t stepexp;  /* the first exponent */
        } exp;
        struct {
            uint64_t stepbase;
            uint64_t linstepdiv; /* steps per power */
        } linexp;
        struct {
            uint16_t nbkts;                    /* the number of buckets */
            const struct stats_hist_bkt *bkts; /* in order, borrowed */
        } usr;
    };
};

/* The size and the precision of a t-digest. */
struct vss_tdgst_hlpr_info {
    enum vsd_dtype voi_dtype;   /* not read */
    enum vsd_dtype tdgst_dtype; /* VSD_DTYPE_TDGSTCLUST32 or 64 */
    uint32_t nctds;             /* the number of centroids: more are more exact */
    uint32_t prec;              /* bits of mu's fraction, rounded up to 2, 4, 6, 8, 16, 32 or 48 */
} __attribute__((__aligned__(sizeof(void *))));

/* The precision of a sum or an extreme. Integers ignore it. */
struct vss_numeric_hlpr_info {
    uint32_t prec; /* fraction bits of sums and extremes of Q numbers */
};

/* The argument of any helper. */
struct vss_hlpr_info {
    union {
        struct vss_tdgst_hlpr_info tdgst;
        struct vss_hist_hlpr_info hist;
        struct vss_numeric_hlpr_info numeric;
    };
};

/* A helper allocates the iv of a specification. Returns 0 or an errno: EINVAL, EFBIG or ENOMEM. */
struct voistatspec;
typedef int (*vss_hlpr_fn)(enum vsd_dtype, struct voistatspec *, struct vss_hlpr_info *);

/* One statistic of a VOI, for stats_tpl_add_voistats. The caller fills an array of these. */
struct voistatspec {
    vss_hlpr_fn hlpr;               /* fills in iv and vsdsz, or NULL */
    struct vss_hlpr_info *hlprinfo; /* the argument of hlpr, borrowed */
    struct voistatdata *iv;         /* the initial data */
    size_t vsdsz;                   /* bytes of iv */
    uint32_t flags;                 /* 1: iv is a value, and not "never updated" */
    enum vsd_dtype vs_dtype : 8;    /* the type of iv */
    enum voi_stype stype : 8;       /* a VOI has at most one statistic of a kind */
};

/* The public part of a blob. */
#define STATS_ABI_V1 1
struct statsblobv1;

enum sb_endianness { SB_UE = 0, SB_LE, SB_BE }; /* unknown, little endian, big endian */

struct statsblob {
    uint8_t abi;      /* STATS_ABI_V1 */
    uint8_t endian;   /* enum sb_endianness: the byte order of all fields */
    uint16_t flags;
    uint16_t maxsz;   /* bytes of its memory */
    uint16_t cursz;   /* bytes in use */
    uint8_t opaque[]; /* the VOIs and their statistics */
} __attribute__((__aligned__(sizeof(void *))));

/* The names of one VOI, which belong to the template. */
struct voi_meta {
    char *name; /* the name that stats_tpl_add_voistats was given */
    char *desc; /* NULL here */
};

/* The names of a template. A blob has the hash only. */
struct metablob {
    char *tplname;             /* the template's name */
    uint32_t tplhash; /* of the names and the form: blobs of one template have the same hash */
    struct voi_meta *voi_meta; /* one per VOI; the name of a vacant slot is NULL */
};

/* A template: its names, and the blob that new blobs are copied from. Both are the library's. */
struct statsblob_tpl {
    struct metablob *mb;  /* the names */
    struct statsblob *sb; /* a blob without values; to be read only */
};

/* The share of objects that get a blob of a template. */
struct stats_tpl_sample_rate {
    int32_t tpl_slot_id;     /* the id of the template */
    uint32_t tpl_sample_pct; /* 0 to 100 per cent */
};

/* What stats_tpl_sample_rates() asks of a subsystem that has a list of rates. */
enum stats_tpl_sr_cb_action {
    TPL_SR_UNLOCKED_GET, /* the list and its count, without a lock */
    TPL_SR_RLOCKED_GET,  /* the same, and lock them for reading */
    TPL_SR_RUNLOCK,      /* unlock them */
    TPL_SR_PUT           /* take this list, and give the old one back */
};

/* A subsystem's answer: 0, or an errno. ctx is NULL, or the memory of one call, zero at first. */
typedef int (*stats_tpl_sr_cb_t)(enum stats_tpl_sr_cb_action action,
                                 struct stats_tpl_sample_rate **rates, int *nrates, void *ctx);

/* The flags of each statistic in a walk. */
#define SB_IT_FIRST_CB 0x0001      /* the first call */
#define SB_IT_LAST_CB 0x0002       /* the last one */
#define SB_IT_FIRST_VOI 0x0004     /* a statistic of the first VOI */
#define SB_IT_LAST_VOI 0x0008      /* of the last VOI */
#define SB_IT_FIRST_VOISTAT 0x0010 /* the first of its VOI */
#define SB_IT_LAST_VOISTAT 0x0020  /* the last of its VOI */
#define SB_IT_NULLVOI 0x0040       /* a vacant slot for a VOI */
#define SB_IT_NULLVOISTAT 0x0080   /* a vacant slot for a statistic */

/* One statistic of a walk. */
struct sb_visit {
    struct voistatdata *vs_data; /* inside the blob, perhaps not aligned */
    uint32_t tplhash;            /* of the blob's template */
    uint32_t flags;              /* SB_IT_ */
    int16_t voi_id;              /* the VOI */
    int16_t vs_dsz;              /* bytes of vs_data */
    uint16_t vs_errs;            /* updates that failed, for example by overflow */
    enum vsd_dtype voi_dtype : 8; /* the type of the VOI's values */
    enum vsd_dtype vs_dtype : 8;  /* the type of vs_data */
    int8_t vs_stype;              /* enum voi_stype */
};
/* Called per statistic; sbv is valid during the call. A result other than 0 ends the walk. */
typedef int (*stats_blob_visitcb_t)(struct sb_visit *sbv, void *usrctx);

/* Of an update: the value is a difference from the last value. */
#define SB_VOI_RELUPDATE 0x00000001

#define SB_CLONE_RSTSRC 0x0001        /* a snapshot: reset the source after the copy */
#define SB_CLONE_ALLOCDST 0x0002      /* allocate the copy */
#define SB_CLONE_USRDSTNOFAULT 0x0004 /* for FreeBSD's kernel; no effect here */
#define SB_CLONE_USRDST 0x0008        /* the same */

#define SB_TOSTR_OBJDUMP 0x00000001 /* all that is stored */
#define SB_TOSTR_META 0x00000002    /* names, from the template with the blob's hash */

/* The first index of numeric_limits. */
#define LIM_MIN 0 /* the smallest value of each type */
#define LIM_MAX 1 /* the largest value of each type */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tables by type, to be read only. Limits are those of the types of values. The limits of a Q type
 * are integers in units of the last bit, as in the original.
 */
extern const char *vs_stype2name[VS_NUM_STYPES];    /* such as "SUM" */
extern const char *vs_stype2desc[VS_NUM_STYPES];    /* the original's words */
extern const char *vsd_dtype2name[VSD_NUM_DTYPES];  /* such as "INT_U64" */
extern const size_t vsd_dtype2size[VSD_NUM_DTYPES]; /* bytes, without buckets and centroids */
extern const struct voistatdata_numeric numeric_limits[2][VSD_DTYPE_Q_U64 + 1];

/* The functions of ABI 1. The names without _v1 at the end of this header explain each one. */
int stats_v1_tpl_alloc(const char *name, uint32_t flags);
int stats_v1_tpl_add_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name,
                              enum vsd_dtype voi_dtype, uint32_t nvss, struct voistatspec *vss,
                              uint32_t flags);
int stats_v1_blob_init(struct statsblobv1 *sb, uint32_t tpl_id, uint32_t flags);
struct statsblobv1 *stats_v1_blob_alloc(uint32_t tpl_id, uint32_t flags);
int stats_v1_blob_clone(struct statsblobv1 **dst, size_t dstmaxsz, struct statsblobv1 *src,
                        uint32_t flags);
void stats_v1_blob_destroy(struct statsblobv1 *sb);
int stats_v1_blob_snapshot(struct statsblobv1 **dst, size_t dstmaxsz, struct statsblobv1 *src,
                           uint32_t flags);
int stats_v1_blob_tostr(struct statsblobv1 *sb, struct sbuf *buf, enum sb_str_fmt fmt,
                        uint32_t flags);
int stats_v1_blob_visit(struct statsblobv1 *sb, stats_blob_visitcb_t func, void *usrctx);
int stats_v1_voi_update(struct statsblobv1 *sb, int32_t voi_id, enum vsd_dtype voi_dtype,
                        struct voistatdata *voival, uint32_t flags);
int stats_v1_voistat_fetch_dptr(struct statsblobv1 *sb, int32_t voi_id, enum voi_stype stype,
                                enum vsd_dtype *retdtype, struct voistatdata **retvsd,
                                size_t *retvsdsz);

/*
 * The helpers of specifications. init calls the helper of each, which allocates its iv. init stops
 * at the first error. cleanup frees the iv of each specification with a helper.
 *
 * Errors: EINVAL: the values make no sense for the type, such as a bound that it cannot express.
 *         EFBIG: the data would be larger than a blob may be. ENOMEM.
 */
int stats_vss_hlpr_init(enum vsd_dtype voi_dtype, uint32_t nvss, struct voistatspec *vss);
void stats_vss_hlpr_cleanup(uint32_t nvss, struct voistatspec *vss);
int stats_vss_hist_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
                        struct vss_hist_hlpr_info *info);
int stats_vss_numeric_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
                           struct vss_numeric_hlpr_info *info);
int stats_vss_tdgst_hlpr(enum vsd_dtype voi_dtype, struct voistatspec *vss,
                         struct vss_tdgst_hlpr_info *info);

/*
 * Templates by id, by name and hash, and the name of an id.
 *
 * stats_tpl_fetch sets *tpl, which stays valid; its blob is replaced when a VOI is added. ENOENT:
 * no such id. stats_tpl_fetch_allocid returns the id of the newest match, or -ESRCH. A NULL name or,
 * with a name, a hash of 0 matches any. stats_tpl_id2name copies the name with its NUL; EOVERFLOW:
 * `len` is too small.
 *
 * stats_tpl_sample_rollthedice chooses a template by the rates, in per cent. The same seed bytes
 * give the same choice; NULL chooses at random. The result is an id, or -1 for none.
 *
 * stats_tpl_sample_rates is the handler of a sysctl whose value is a subsystem's rates as text,
 * "name":hash=percent,... arg1 is a stats_tpl_sr_cb_t, and arg2 the bytes of its ctx or 0. The text
 * has a NUL. A new value replaces the whole list, and an empty one empties it. The new list is
 * malloc's, or NULL, and goes to TPL_SR_PUT; the list that this gives back is freed. EINVAL: no
 * callback, syntax, or more than 100 per cent in all; ESRCH: no such template; else the errno of a
 * callback. A list that could not be put is freed, and the old one stays.
 *
 * stats_voistatdata_tostr appends one statistic of vsd_sz bytes to buf, as stats_blob_tostr does. A
 * number has no key, in JSON neither. Its vsd_sz may be larger than its type.
 */
int stats_tpl_fetch(int tpl_id, struct statsblob_tpl **tpl);
int stats_tpl_fetch_allocid(const char *name, uint32_t hash);
int stats_tpl_id2name(uint32_t tpl_id, char *buf, size_t len);
int stats_tpl_sample_rollthedice(struct stats_tpl_sample_rate *rates, int nrates, void *seed_bytes,
                                 size_t seed_len);
int stats_tpl_sample_rates(SYSCTL_HANDLER_ARGS);
int stats_voistatdata_tostr(const struct voistatdata *vsd, enum vsd_dtype voi_dtype,
                            enum vsd_dtype vsd_dtype, size_t vsd_sz, enum sb_str_fmt fmt,
                            struct sbuf *buf, int objdump);

#ifdef __cplusplus
}
#endif

/* Members by name, as the macros need them. */
#define TYPEOF_MEMBER(type, member) __typeof(((type *)0)->member) /* its type */
/* The type that it points to. */
#define TYPEOF_MEMBER_PTR(type, member) __typeof(*(((type *)0)->member))
#define SIZEOF_MEMBER(type, member) sizeof(TYPEOF_MEMBER(type, member)) /* its bytes */

/* A pointer to data as a pointer to data of a type. */
#define _VSD(cnst, type, ptr) ((cnst struct voistatdata_##type *)(ptr)) /* cnst: const or nothing */
#define VSD(type, ptr) _VSD(, type, ptr)           /* writable data */
#define CONSTVSD(type, ptr) _VSD(const, type, ptr) /* constant data */

/* The number of specifications in an array. */
#define NVSS(vss_slots) (sizeof((vss_slots)) / sizeof(struct voistatspec))

/* Between sizes in bytes and counts of buckets or centroids; the type is as in crhist32. */
#define HIST_VSDSZ2NBKTS(htype, dsz)                   \
    (((dsz) - sizeof(struct voistatdata_##htype)) /    \
     sizeof(TYPEOF_MEMBER(struct voistatdata_##htype, bkts[0])))
#define HIST_NBKTS2VSDSZ(htype, nbkts)         \
    (sizeof(struct voistatdata_##htype) +      \
     ((nbkts) * sizeof(TYPEOF_MEMBER_PTR(struct voistatdata_##htype, bkts))))
#define TDGST_NCTRS2VSDSZ(tdtype, nctds)       \
    (sizeof(struct voistatdata_##tdtype) +     \
     ((nctds) * sizeof(TYPEOF_MEMBER_PTR(struct voistatdata_##tdtype, ctdtree.arb_nodes))))

/*
 * A histogram's field by its type at run time, such as oob or bkts[i].cnt. _FIELDVAL is the value,
 * and _FIELDPTR a pointer. CONST is for a histogram that must not be changed. VSD_HIST_ takes any
 * histogram. VSD_CRHIST_, VSD_DRHIST_ and VSD_DVHIST_ take one kind, which may have fields of its
 * own.
 */
#define VSD_HIST_FIELD(hist, cnst, hist_dtype, op, field)                                  \
    ((hist_dtype) == VSD_DTYPE_CRHIST32   ? op(_VSD(cnst, crhist32, hist)->field)          \
     : (hist_dtype) == VSD_DTYPE_DRHIST32 ? op(_VSD(cnst, drhist32, hist)->field)          \
     : (hist_dtype) == VSD_DTYPE_DVHIST32 ? op(_VSD(cnst, dvhist32, hist)->field)          \
     : (hist_dtype) == VSD_DTYPE_CRHIST64 ? op(_VSD(cnst, crhist64, hist)->field)          \
     : (hist_dtype) == VSD_DTYPE_DRHIST64 ? op(_VSD(cnst, drhist64, hist)->field)          \
                                          : op(_VSD(cnst, dvhist64, hist)->field))
#define VSD_HIST_FIELDVAL(hist, hist_dtype, field) VSD_HIST_FIELD(hist, , hist_dtype, , field)
#define VSD_CONSTHIST_FIELDVAL(hist, hist_dtype, field) \
    VSD_HIST_FIELD(hist, const, hist_dtype, , field)
#define VSD_HIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_HIST_FIELD(hist, , hist_dtype, (void *)&, field)
#define VSD_CONSTHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_HIST_FIELD(hist, const, hist_dtype, (const void *)&, field)

#define STATS_HIST2_FIELD_(k32, k64, is32, hist, cnst, op, field) \
    ((is32) ? op(_VSD(cnst, k32, hist)->field) : op(_VSD(cnst, k64, hist)->field))
#define VSD_CRHIST_FIELD(hist, cnst, hist_dtype, op, field) \
    STATS_HIST2_FIELD_(crhist32, crhist64, (hist_dtype) == VSD_DTYPE_CRHIST32, hist, cnst, op, field)
#define VSD_CRHIST_FIELDVAL(hist, hist_dtype, field) VSD_CRHIST_FIELD(hist, , hist_dtype, , field)
#define VSD_CONSTCRHIST_FIELDVAL(hist, hist_dtype, field) \
    VSD_CRHIST_FIELD(hist, const, hist_dtype, , field)
#define VSD_CRHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_CRHIST_FIELD(hist, , hist_dtype, (void *)&, field)
#define VSD_CONSTCRHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_CRHIST_FIELD(hist, const, hist_dtype, (const void *)&, field)
#define VSD_DRHIST_FIELD(hist, cnst, hist_dtype, op, field) \
    STATS_HIST2_FIELD_(drhist32, drhist64, (hist_dtype) == VSD_DTYPE_DRHIST32, hist, cnst, op, field)
#define VSD_DRHIST_FIELDVAL(hist, hist_dtype, field) VSD_DRHIST_FIELD(hist, , hist_dtype, , field)
#define VSD_CONSTDRHIST_FIELDVAL(hist, hist_dtype, field) \
    VSD_DRHIST_FIELD(hist, const, hist_dtype, , field)
#define VSD_DRHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_DRHIST_FIELD(hist, , hist_dtype, (void *)&, field)
#define VSD_CONSTDRHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_DRHIST_FIELD(hist, const, hist_dtype, (const void *)&, field)
#define VSD_DVHIST_FIELD(hist, cnst, hist_dtype, op, field) \
    STATS_HIST2_FIELD_(dvhist32, dvhist64, (hist_dtype) == VSD_DTYPE_DVHIST32, hist, cnst, op, field)
#define VSD_DVHIST_FIELDVAL(hist, hist_dtype, field) VSD_DVHIST_FIELD(hist, , hist_dtype, , field)
#define VSD_CONSTDVHIST_FIELDVAL(hist, hist_dtype, field) \
    VSD_DVHIST_FIELD(hist, const, hist_dtype, , field)
#define VSD_DVHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_DVHIST_FIELD(hist, , hist_dtype, (void *)&, field)
#define VSD_CONSTDVHIST_FIELDPTR(hist, hist_dtype, field) \
    VSD_DVHIST_FIELD(hist, const, hist_dtype, (const void *)&, field)

#if defined(__cplusplus) && __cplusplus >= 201402L
#define STATS_INLINE_ constexpr
#else
#define STATS_INLINE_ static __inline__
#endif

/* A value of any type from its bits. A negative value or a Q number is converted to uint64_t. */
STATS_INLINE_ struct voistatdata_numeric stats_ctor_vsd_numeric(uint64_t val) {
#ifdef __cplusplus
    struct voistatdata_numeric number = {};
    number.int64.u64 = val;
    return number;
#else
    struct voistatdata_numeric number;
    number.int64.u64 = val;
    return number;
#endif
}

/* One bucket for HBKTS: a range without its end ub, a single value, or a range up to the next. */
#define DRBKT(lb, ub) {stats_ctor_vsd_numeric((uint64_t)(lb)), stats_ctor_vsd_numeric((uint64_t)(ub))}
#define DVBKT(val) DRBKT(val, val) /* a single value */
#define CRBKT(lb) DRBKT(lb, lb)    /* up to the next bucket */

#ifdef __cplusplus
#if __cplusplus >= 201402L
#include <sys/stats_builders.hpp>
#endif
#else
/* Specifications. Each points to a compound literal, valid until the end of the enclosing block. */
#define STATS_VSS(st, vsf, dt, hlp, hlpi)                                                  \
    ((struct voistatspec){.stype = (st), .flags = (vsf), .vs_dtype = (dt), .hlpr = (hlp), \
                          .hlprinfo = (hlpi)})
#define STATS_VSS_NUMERIC_(st, hlpi) \
    STATS_VSS(st, 0, (enum vsd_dtype)0, (vss_hlpr_fn)(void (*)(void)) & stats_vss_numeric_hlpr, hlpi)
#define STATS_VSS_SUM() STATS_VSS_NUMERIC_(VS_STYPE_SUM, NULL) /* begins at 0 */
#define STATS_VSS_MAX() STATS_VSS_NUMERIC_(VS_STYPE_MAX, NULL) /* begins at the least value */
#define STATS_VSS_MIN() STATS_VSS_NUMERIC_(VS_STYPE_MIN, NULL) /* begins at the greatest value */

/* Specifications for Q numbers with n bits of fraction; FreeBSD does not have these macros. */
#define STATS_VSS_PREC_(n) ((struct vss_hlpr_info *)&(struct vss_numeric_hlpr_info){.prec = (n)})
#define STATS_VSS_SUM_PREC(n) STATS_VSS_NUMERIC_(VS_STYPE_SUM, STATS_VSS_PREC_(n))
#define STATS_VSS_MAX_PREC(n) STATS_VSS_NUMERIC_(VS_STYPE_MAX, STATS_VSS_PREC_(n))
#define STATS_VSS_MIN_PREC(n) STATS_VSS_NUMERIC_(VS_STYPE_MIN, STATS_VSS_PREC_(n))

/* A histogram and a t-digest from an info of the caller. */
#define STATS_VSS_HIST(htype, hist_hlpr_info)                                                   \
    STATS_VSS(VS_STYPE_HIST, 0, htype, (vss_hlpr_fn)(void (*)(void)) & stats_vss_hist_hlpr,     \
              (struct vss_hlpr_info *)(hist_hlpr_info))
#define STATS_VSS_TDIGEST(tdtype, tdgst_hlpr_info)                                              \
    STATS_VSS(VS_STYPE_TDGST, 0, tdtype, (vss_hlpr_fn)(void (*)(void)) & stats_vss_tdgst_hlpr,  \
              (struct vss_hlpr_info *)(tdgst_hlpr_info))

/* A t-digest of nctds centroids, whose means have prec bits of fraction. */
#define TDGST_HLPR_INFO(dt, nc, nf) \
    (&(struct vss_tdgst_hlpr_info){.tdgst_dtype = (dt), .nctds = (nc), .prec = (nf)})
#define STATS_VSS_TDGSTCLUST32(nctds, prec) \
    STATS_VSS_TDIGEST(VSD_DTYPE_TDGSTCLUST32, TDGST_HLPR_INFO(VSD_DTYPE_TDGSTCLUST32, nctds, prec))
#define STATS_VSS_TDGSTCLUST64(nctds, prec) \
    STATS_VSS_TDIGEST(VSD_DTYPE_TDGSTCLUST64, TDGST_HLPR_INFO(VSD_DTYPE_TDGSTCLUST64, nctds, prec))

/* A list of buckets for _USR, ascending: HBKTS(CRBKT(0), CRBKT(10)). */
#define HBKTS(...) ((struct voistatdata_numeric[][2]){__VA_ARGS__})

/* The info of a histogram; the fields are those of its scheme. */
#define HIST_HLPR_INFO_LIN_FIELDS(si) .lin.stepinc = (si)
#define HIST_HLPR_INFO_EXP_FIELDS(sb, se) .exp.stepbase = (sb), .exp.stepexp = (se)
#define HIST_HLPR_INFO_LINEXP_FIELDS(nss, sb) .linexp.linstepdiv = (nss), .linexp.stepbase = (sb)
#define HIST_HLPR_INFO_USR_FIELDS(bbs)                                              \
    .usr.bkts = (TYPEOF_MEMBER(struct vss_hist_hlpr_info, usr.bkts))(bbs),          \
    .usr.nbkts = (uint16_t)(sizeof(bbs) / sizeof(struct voistatdata_numeric[2]))
#define HIST_HLPR_INFO(dt, sch, f, lbd, ubd, bkthlpr_fields)          \
    (&(struct vss_hist_hlpr_info){.scheme = (sch),                    \
                                  .hist_dtype = (dt),                 \
                                  .flags = (f),                       \
                                  .lb = stats_ctor_vsd_numeric(lbd),  \
                                  .ub = stats_ctor_vsd_numeric(ubd),  \
                                  bkthlpr_fields})

#define STATS_VSS_LIN_(dt, lb, ub, stepinc, f) \
    STATS_VSS_HIST(dt, HIST_HLPR_INFO(dt, BKT_LIN, f, lb, ub, HIST_HLPR_INFO_LIN_FIELDS(stepinc)))
#define STATS_VSS_EXP_(dt, lb, ub, stepbase, stepexp, f) \
    STATS_VSS_HIST(                                      \
        dt, HIST_HLPR_INFO(dt, BKT_EXP, f, lb, ub, HIST_HLPR_INFO_EXP_FIELDS(stepbase, stepexp)))
#define STATS_VSS_LINEXP_(dt, lb, ub, nlinsteps, stepbase, f)      \
    STATS_VSS_HIST(dt, HIST_HLPR_INFO(dt, BKT_LINEXP, f, lb, ub,   \
                                      HIST_HLPR_INFO_LINEXP_FIELDS(nlinsteps, stepbase)))
#define STATS_VSS_USR_(dt, bkts, f) \
    STATS_VSS_HIST(dt, HIST_HLPR_INFO(dt, BKT_USR, f, 0, 0, HIST_HLPR_INFO_USR_FIELDS(bkts)))

/*
 * Histograms from lb to ub. The bucket that has ub is the last one, and has no end.
 *
 *     LIN     buckets of the width stepinc
 *     EXP     buckets as wide as stepbase to the power of stepexp, stepexp + 1 and so on
 *     LINEXP  each power of stepbase is divided into nlinsteps buckets
 *     USR     the buckets of an HBKTS list
 */
#define STATS_VSS_CRHIST32_LIN(lb, ub, stepinc, vsdflags) \
    STATS_VSS_LIN_(VSD_DTYPE_CRHIST32, lb, ub, stepinc, vsdflags)
#define STATS_VSS_CRHIST32_EXP(lb, ub, stepbase, stepexp, vsdflags) \
    STATS_VSS_EXP_(VSD_DTYPE_CRHIST32, lb, ub, stepbase, stepexp, vsdflags)
#define STATS_VSS_CRHIST32_LINEXP(lb, ub, nlinsteps, stepbase, vsdflags) \
    STATS_VSS_LINEXP_(VSD_DTYPE_CRHIST32, lb, ub, nlinsteps, stepbase, vsdflags)
#define STATS_VSS_CRHIST32_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_CRHIST32, bkts, vsdflags)
#define STATS_VSS_DRHIST32_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DRHIST32, bkts, vsdflags)
#define STATS_VSS_DVHIST32_USR(vals, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DVHIST32, vals, vsdflags)
#define STATS_VSS_CRHIST64_LIN(lb, ub, stepinc, vsdflags) \
    STATS_VSS_LIN_(VSD_DTYPE_CRHIST64, lb, ub, stepinc, vsdflags)
#define STATS_VSS_CRHIST64_EXP(lb, ub, stepbase, stepexp, vsdflags) \
    STATS_VSS_EXP_(VSD_DTYPE_CRHIST64, lb, ub, stepbase, stepexp, vsdflags)
#define STATS_VSS_CRHIST64_LINEXP(lb, ub, nlinsteps, stepbase, vsdflags) \
    STATS_VSS_LINEXP_(VSD_DTYPE_CRHIST64, lb, ub, nlinsteps, stepbase, vsdflags)
#define STATS_VSS_CRHIST64_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_CRHIST64, bkts, vsdflags)
#define STATS_VSS_DRHIST64_USR(bkts, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DRHIST64, bkts, vsdflags)
#define STATS_VSS_DVHIST64_USR(vals, vsdflags) STATS_VSS_USR_(VSD_DTYPE_DVHIST64, vals, vsdflags)
#endif /* C */

/* Fraction bits of sums and extremes of Q VOIs, if the specification has no number. */
#define STATS_Q_PREC_DEFAULT 8

/* The public names, which call the functions of the current ABI. */

/*
 * Creates an empty template, whose name is copied. Returns its id, from 0 on. flags has no effect.
 *
 * Threads: any; a template is never removed.
 * Errors:  -EEXIST: a template has this name. -EINVAL: the name has more than TPL_MAX_NAME_LEN
 *          bytes. -ENOMEM, also for a NULL name.
 */
static __inline__ int stats_tpl_alloc(const char *name, uint32_t flags) {
    return stats_v1_tpl_alloc(name, flags);
}

/*
 * Adds a VOI with its statistics to a template. Blobs that exist already stay as they are. With
 * SB_VOI_RELUPDATE in flags, the VOI takes relative updates.
 *
 * Ownership: everything is copied. The iv of each specification with a helper is freed.
 * Threads:   any.
 * Errors:    EINVAL: a specification is wrong, or there is no such template. EOPNOTSUPP: the
 *            template has this VOI already. EFBIG: a blob would have more than 65535 bytes. ENOMEM.
 */
static __inline__ int stats_tpl_add_voistats(uint32_t tpl_id, int32_t voi_id, const char *voi_name,
                                             enum vsd_dtype voi_dtype, uint32_t nvss,
                                             struct voistatspec *vss, uint32_t flags) {
    int error = stats_vss_hlpr_init(voi_dtype, nvss, vss);
    if (error == 0)
        error = stats_v1_tpl_add_voistats(tpl_id, voi_id, voi_name, voi_dtype, nvss, vss, flags);
    stats_vss_hlpr_cleanup(nvss, vss);
    return error;
}

/*
 * Creates a blob in memory of the caller, whose maxsz is set before the call. flags has no effect.
 * Errors: EOVERFLOW: not enough room. EINVAL: no such template.
 */
static __inline__ int stats_blob_init(struct statsblob *sb, uint32_t tpl_id, uint32_t flags) {
    return stats_v1_blob_init((struct statsblobv1 *)sb, tpl_id, flags);
}

/* Allocates a blob, which stats_blob_destroy frees. NULL: no such template, or no memory. */
static __inline__ struct statsblob *stats_blob_alloc(uint32_t tpl_id, uint32_t flags) {
    return (struct statsblob *)stats_v1_blob_alloc(tpl_id, flags);
}

/*
 * Copies src to *dst, of dstmaxsz bytes. SB_CLONE_ALLOCDST allocates *dst, which stats_blob_destroy
 * frees. The copy keeps its own maxsz.
 *
 * Errors: EOVERFLOW: only the public header fitted; its cursz is the needed size. EINVAL: src is no
 *         blob, or there is no room for a header. EFTYPE: src has the other byte order. ENOMEM.
 */
static __inline__ int stats_blob_clone(struct statsblob **dst, size_t dstmaxsz,
                                       struct statsblob *src, uint32_t flags) {
    return stats_v1_blob_clone((struct statsblobv1 **)dst, dstmaxsz, (struct statsblobv1 *)src,
                               flags);
}

/* Copies as stats_blob_clone, and with SB_CLONE_RSTSRC resets src afterwards. EINVAL also if src is
 * not valid, as stats_blob_validate of <blkscope/stats.h> defines it. */
static __inline__ int stats_blob_snapshot(struct statsblob **dst, size_t dstmaxsz,
                                          struct statsblob *src, uint32_t flags) {
    return stats_v1_blob_snapshot((struct statsblobv1 **)dst, dstmaxsz, (struct statsblobv1 *)src,
                                  flags);
}

/* Frees a blob of stats_blob_alloc or of a copy; NULL is allowed. */
static __inline__ void stats_blob_destroy(struct statsblob *sb) {
    stats_v1_blob_destroy((struct statsblobv1 *)sb);
}

/* Walks over all statistics, in the order of the VOIs. func may read and change the data. EINVAL:
 * not a valid blob, or no func. 0 also if func ended the walk. */
static __inline__ int stats_blob_visit(struct statsblob *sb, stats_blob_visitcb_t func,
                                       void *usrctx) {
    return stats_v1_blob_visit((struct statsblobv1 *)sb, func, usrctx);
}

/*
 * Appends the blob to buf, a buffer of <sys/sbuf.h>. flags: SB_TOSTR_. The caller finishes buf.
 * Errors: EINVAL: no valid blob, or no template for SB_TOSTR_META. Or the error of buf.
 */
static __inline__ int stats_blob_tostr(struct statsblob *sb, struct sbuf *buf, enum sb_str_fmt fmt,
                                       uint32_t flags) {
    return stats_v1_blob_tostr((struct statsblobv1 *)sb, buf, fmt, flags);
}

/*
 * Finds the data of one statistic: a pointer into the blob, perhaps not aligned. retdtype and
 * retvsdsz may be NULL; the size is in bytes.
 *
 * Ownership: the pointer is valid as long as the blob.
 * Errors:    EINVAL: no such VOI or statistic, or a blob of another ABI. EFTYPE: a blob of the
 *            other byte order.
 */
static __inline__ int stats_voistat_fetch_dptr(struct statsblob *sb, int32_t voi_id,
                                               enum voi_stype stype, enum vsd_dtype *retdtype,
                                               struct voistatdata **retvsd, size_t *retvsdsz) {
    return stats_v1_voistat_fetch_dptr((struct statsblobv1 *)sb, voi_id, stype, retdtype, retvsd,
                                       retvsdsz);
}

/*
 * For each type: stats_voistat_fetch_TYPE copies a sum or an extreme, and stats_voi_update_abs_TYPE
 * and _rel_TYPE feed a value. A relative value is added to the last one. An update neither
 * allocates nor locks. A NULL blob is not updated, and the result is 0.
 *
 * Errors: EINVAL: no such VOI, or a VOI of another type. EFTYPE: a statistic of another type, or a
 *         blob of the other byte order. An update may also return the error of a statistic, such as
 *         EOVERFLOW. That statistic then counts an error, up to 255, and the others have taken the
 *         value.
 */
#define STATS_FETCH_(suffix, ctype, dtype)                                                         \
    static __inline__ int stats_voistat_fetch_##suffix(struct statsblob *sb, int32_t voi_id,       \
                                                       enum voi_stype stype, ctype *ret) {         \
        struct voistatdata *vsd = NULL;                                                            \
        enum vsd_dtype vs_dtype = VSD_DTYPE_VOISTATE;                                              \
        const int error = stats_voistat_fetch_dptr(sb, voi_id, stype, &vs_dtype, &vsd, NULL);      \
        if (error != 0) return error;                                                              \
        if (vs_dtype != (dtype)) return EFTYPE;                                                    \
        __builtin_memcpy(ret, vsd, sizeof(*ret)); /* perhaps misaligned */                         \
        return 0;                                                                                  \
    }
#define STATS_UPDATE_(how, suffix, ctype, dtype, member, flags)                                    \
    static __inline__ int stats_voi_update_##how##_##suffix(struct statsblob *sb, int32_t voi_id,  \
                                                            ctype voival) {                        \
        struct voistatdata value;                                                                  \
        if (sb == NULL) return 0;                                                                  \
        value.member = voival;                                                                     \
        return stats_v1_voi_update((struct statsblobv1 *)sb, voi_id, (dtype), &value, (flags));    \
    }
#define STATS_TYPE_(suffix, ctype, dtype, member)                        \
    STATS_UPDATE_(abs, suffix, ctype, dtype, member, 0)                  \
    STATS_UPDATE_(rel, suffix, ctype, dtype, member, SB_VOI_RELUPDATE)
STATS_FETCH_(s32, int32_t, VSD_DTYPE_INT_S32)
STATS_FETCH_(u32, uint32_t, VSD_DTYPE_INT_U32)
STATS_FETCH_(s64, int64_t, VSD_DTYPE_INT_S64)
STATS_FETCH_(u64, uint64_t, VSD_DTYPE_INT_U64)
STATS_FETCH_(slong, long, VSD_DTYPE_INT_SLONG)
STATS_FETCH_(ulong, unsigned long, VSD_DTYPE_INT_ULONG)
STATS_TYPE_(s32, int32_t, VSD_DTYPE_INT_S32, int32.s32)
STATS_TYPE_(u32, uint32_t, VSD_DTYPE_INT_U32, int32.u32)
STATS_TYPE_(s64, int64_t, VSD_DTYPE_INT_S64, int64.s64)
STATS_TYPE_(u64, uint64_t, VSD_DTYPE_INT_U64, int64.u64)
STATS_TYPE_(slong, long, VSD_DTYPE_INT_SLONG, intlong.slong)
STATS_TYPE_(ulong, unsigned long, VSD_DTYPE_INT_ULONG, intlong.ulong)
STATS_TYPE_(sq32, s32q_t, VSD_DTYPE_Q_S32, q32.sq32)
STATS_TYPE_(uq32, u32q_t, VSD_DTYPE_Q_U32, q32.uq32)
STATS_TYPE_(sq64, s64q_t, VSD_DTYPE_Q_S64, q64.sq64)
STATS_TYPE_(uq64, u64q_t, VSD_DTYPE_Q_U64, q64.uq64)
#undef STATS_FETCH_
#undef STATS_UPDATE_
#undef STATS_TYPE_

#endif /* _SYS_STATS_H_ */
