/*
 * Additions of libstats to FreeBSD's stats(3): quantiles of t-digests, the merging of blobs, and
 * the check of a foreign blob.
 *
 * Errors: errno values. Threads: as <sys/stats.h>; the caller keeps others off a blob meanwhile.
 */
#ifndef _BLKSCOPE_STATS_H
#define _BLKSCOPE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stats.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Checks a foreign blob. The blob must be whole and in this machine's byte order. Every part must
 * lie within `size` bytes, and no two parts may overlap. Every histogram must be in order, and
 * every digest a proper tree. The check reads no byte outside. 0: every function here and in
 * <sys/stats.h> accepts the blob, updates too. The memory must be aligned like a pointer. EINVAL:
 * no such blob. EFTYPE: perhaps a blob of another ABI or byte order. stats_blob_tostr(), _visit(),
 * _snapshot() and the functions below check for themselves.
 */
int stats_blob_validate(const void *blob, size_t size);

/*
 * Adds the statistics of src to dst. Both have the same template. Sums and counts are added,
 * extremes compared, digests merged. EINVAL: a blob is not valid, or the templates or forms differ;
 * dst is unchanged. EOVERFLOW, ERANGE: a statistic overflowed and counts an error in its errs. The
 * other statistics are merged.
 */
int stats_blob_merge(struct statsblob *dst, struct statsblob *src);

/*
 * Quantiles, from the t-digest of a VOI. stats_voi_quantile gives the value below which the share q
 * (0 to 1) of all values lies. stats_voi_cdf gives the share of values that are not above x. MIN
 * and MAX of the VOI bound the result. EINVAL: no such VOI, no digest, or q is no share. ENOENT: no
 * value was counted yet.
 */
int stats_voi_quantile(struct statsblob *sb, int32_t voi_id, double q, double *value);
int stats_voi_cdf(struct statsblob *sb, int32_t voi_id, double x, double *share);

/* The same of a digest alone, as stats_voistat_fetch_dptr() or a visit shows it. */
int stats_tdgst_quantile(const struct voistatdata *digest, enum vsd_dtype dtype, size_t size,
                         double q, double *value);
int stats_tdgst_cdf(const struct voistatdata *digest, enum vsd_dtype dtype, size_t size, double x,
                    double *share);
/* Adds src to dst; their dtypes, sizes and precisions may differ. */
int stats_tdgst_merge(struct voistatdata *dst, enum vsd_dtype dst_dtype, size_t dst_size,
                      const struct voistatdata *src, enum vsd_dtype src_dtype, size_t src_size);

/*
 * stats_tpl_sample_rollthedice() as FreeBSD computes it, for those who must choose as it does. Its
 * first template comes up one per cent too often, and always for seeds of up to four bytes.
 */
int stats_tpl_sample_rollthedice_compat(struct stats_tpl_sample_rate *rates, int nrates,
                                        void *seed_bytes, size_t seed_len);

/*
 * Sample rates as text, in the form of FreeBSD's sysctl: "name":hash=percent,... Reading also takes
 * name=percent, "name"=percent and :hash=percent. *nrates is the room in rates, and then the number
 * read. EINVAL: syntax, or more than 100 per cent in all; ESRCH: no such template; EOVERFLOW: no
 * room.
 */
int stats_tpl_rates_tostr(const struct stats_tpl_sample_rate *rates, int nrates, struct sbuf *buf);
int stats_tpl_rates_parse(const char *text, struct stats_tpl_sample_rate *rates, int *nrates);
/* Every template: "name":hash,... */
int stats_tpl_list_tostr(struct sbuf *buf);

#ifdef __cplusplus
}
#endif

#endif /* _BLKSCOPE_STATS_H */
