// The specifications of <sys/stats.h> for C++, whose compilers do not take the C macros: the same
// names in lower case. A specification of a histogram or a t-digest points to a vss_hlpr_info, which
// must live until stats_tpl_add_voistats() has returned.
//
//     auto buckets = stats_hist_linexp(VSD_DTYPE_CRHIST64, 0, 1'000'000, 8, 2);
//     auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, 100, 16);
//     voistatspec vss[] = {STATS_VSS_SUM(), stats_vss_hist(buckets), stats_vss_tdgst(digest)};
//
// Included by <sys/stats.h>; not to be included alone.
#ifndef _SYS_STATS_H_
#include <sys/stats.h>
#elif !defined(_SYS_STATS_BUILDERS_HPP_)
#define _SYS_STATS_BUILDERS_HPP_

#pragma GCC system_header

namespace stats_detail {

inline int numeric(vsd_dtype dtype, voistatspec* vss, vss_hlpr_info* info) {
    return stats_vss_numeric_hlpr(dtype, vss, info == nullptr ? nullptr : &info->numeric);
}
inline int hist(vsd_dtype dtype, voistatspec* vss, vss_hlpr_info* info) {
    return stats_vss_hist_hlpr(dtype, vss, &info->hist);
}
inline int tdgst(vsd_dtype dtype, voistatspec* vss, vss_hlpr_info* info) {
    return stats_vss_tdgst_hlpr(dtype, vss, &info->tdgst);
}

constexpr voistatspec spec(voi_stype stype, vsd_dtype dtype, vss_hlpr_fn helper, vss_hlpr_info* info) {
    return {helper, info, nullptr, 0, 0, dtype, stype};
}

constexpr vss_hist_hlpr_info bounds(vss_hist_hlpr_info::hist_bkt_alloc scheme, vsd_dtype dtype,
                                    uint64_t lb, uint64_t ub, uint32_t flags) {
    return {scheme, VSD_DTYPE_VOISTATE, dtype, flags, stats_ctor_vsd_numeric(lb),
            stats_ctor_vsd_numeric(ub), {}};
}

}  // namespace stats_detail

/// Bits of the fraction of a sum or an extreme of Q numbers: for stats_vss_numeric().
constexpr vss_hlpr_info stats_numeric_prec(uint32_t bits) {
    vss_hlpr_info info{};
    info.numeric = {bits};
    return info;
}

/// Centroids, and bits of their means' fraction.
constexpr vss_hlpr_info stats_tdgst(vsd_dtype dtype, uint32_t centroids, uint32_t bits) {
    vss_hlpr_info info{};
    info.tdgst = {VSD_DTYPE_VOISTATE, dtype, centroids, bits};
    return info;
}

/// Buckets; see STATS_VSS_CRHIST64_LIN and its sisters. Negative bounds go through uint64_t.
constexpr vss_hlpr_info stats_hist_lin(vsd_dtype dtype, uint64_t lb, uint64_t ub, uint64_t step,
                                       uint32_t flags = 0) {
    vss_hlpr_info info{};
    info.hist = stats_detail::bounds(vss_hist_hlpr_info::BKT_LIN, dtype, lb, ub, flags);
    info.hist.lin = {step};
    return info;
}
constexpr vss_hlpr_info stats_hist_exp(vsd_dtype dtype, uint64_t lb, uint64_t ub, uint64_t base,
                                       uint64_t exponent, uint32_t flags = 0) {
    vss_hlpr_info info{};
    info.hist = stats_detail::bounds(vss_hist_hlpr_info::BKT_EXP, dtype, lb, ub, flags);
    info.hist.exp = {base, exponent};
    return info;
}
constexpr vss_hlpr_info stats_hist_linexp(vsd_dtype dtype, uint64_t lb, uint64_t ub, uint64_t steps,
                                          uint64_t base, uint32_t flags = 0) {
    vss_hlpr_info info{};
    info.hist = stats_detail::bounds(vss_hist_hlpr_info::BKT_LINEXP, dtype, lb, ub, flags);
    info.hist.linexp = {base, steps};
    return info;
}
/// The buckets are borrowed, like the info itself.
template <size_t N>
constexpr vss_hlpr_info stats_hist_usr(vsd_dtype dtype, const stats_hist_bkt (&buckets)[N],
                                       uint32_t flags = 0) {
    vss_hlpr_info info{};
    info.hist = stats_detail::bounds(vss_hist_hlpr_info::BKT_USR, dtype, 0, 0, flags);
    info.hist.usr = {N, buckets};
    return info;
}

constexpr voistatspec stats_vss_numeric(voi_stype stype, vss_hlpr_info* prec = nullptr) {
    return stats_detail::spec(stype, VSD_DTYPE_VOISTATE, stats_detail::numeric, prec);
}
constexpr voistatspec stats_vss_hist(vss_hlpr_info& info) {
    return stats_detail::spec(VS_STYPE_HIST, info.hist.hist_dtype, stats_detail::hist, &info);
}
constexpr voistatspec stats_vss_tdgst(vss_hlpr_info& info) {
    return stats_detail::spec(VS_STYPE_TDGST, info.tdgst.tdgst_dtype, stats_detail::tdgst, &info);
}

#define STATS_VSS_SUM() stats_vss_numeric(VS_STYPE_SUM)
#define STATS_VSS_MAX() stats_vss_numeric(VS_STYPE_MAX)
#define STATS_VSS_MIN() stats_vss_numeric(VS_STYPE_MIN)

#endif
