// The helpers of the specifications: from what STATS_VSS_*() say to a statistic's initial data.
#include <cstdlib>
#include <new>

#include "stats/digest.hpp"
#include "stats/histogram.hpp"

namespace blkscope::stats {
namespace {

// Takes over `size` bytes of initial data, which stats_vss_hlpr_cleanup() frees.
int give(voistatspec& spec, vsd_dtype dtype, const void* data, size_t size) {
    void* const iv = std::malloc(size);
    if (iv == nullptr) return ENOMEM;
    std::memcpy(iv, data, size);
    spec.iv = static_cast<voistatdata*>(iv);
    spec.vsdsz = size;
    spec.vs_dtype = dtype;
    return 0;
}

// A sum begins at 0. An extreme begins at the limit of its type in numeric_limits.
template <class N>
int give_numeric(vsd_dtype dtype, voistatspec& spec, uint32_t precision) {
    using T = typename N::Stored;
    T zero = 0;
    if constexpr (std::is_same_v<N, QNumber<T>>) Q_INI(&zero, 0, 0, precision);
    T value = zero;
    if (spec.stype == VS_STYPE_MAX) value = initial_limit<N>(LIM_MIN, zero);
    if (spec.stype == VS_STYPE_MIN) value = initial_limit<N>(LIM_MAX, zero);
    return give(spec, dtype, &value, sizeof value);
}

bool is_precision(uint32_t bits) {
    return bits >= 1 && bits <= 64;
}

}  // namespace
}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" int stats_vss_numeric_hlpr(vsd_dtype voi_dtype, voistatspec* vss,
                                      vss_numeric_hlpr_info* info) {
    const uint32_t precision = info == nullptr ? STATS_Q_PREC_DEFAULT : info->prec;
    if (vss == nullptr || !is_numeric(voi_dtype) || !is_precision(precision)) return EINVAL;
    if (vss->stype < VS_STYPE_SUM || vss->stype > VS_STYPE_MIN) return EINVAL;
    return with_numeric(voi_dtype, [&](auto* number) {
        return give_numeric<Pointed<decltype(number)>>(voi_dtype, *vss, precision);
    });
}

extern "C" int stats_vss_hist_hlpr(vsd_dtype voi_dtype, voistatspec* vss,
                                   vss_hist_hlpr_info* info) {
    if (vss == nullptr || info == nullptr) return EINVAL;
    try {
        std::vector<std::byte> data;
        const int error = make_buckets(*info, voi_dtype, data);
        return error != 0 ? error : give(*vss, info->hist_dtype, data.data(), data.size());
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

extern "C" int stats_vss_tdgst_hlpr(vsd_dtype voi_dtype, voistatspec* vss,
                                    vss_tdgst_hlpr_info* info) {
    if (vss == nullptr || info == nullptr || !is_numeric(voi_dtype)) return EINVAL;
    if (!is_digest(info->tdgst_dtype) || info->nctds == 0 || !is_precision(info->prec))
        return EINVAL;
    if (info->nctds > blob_size_max) return EFBIG;
    const size_t size = Digest::size_for(info->tdgst_dtype, info->nctds);
    if (size > blob_size_max) return EFBIG;
    try {
        std::vector<std::byte> data(size);
        Digest(data.data(), info->tdgst_dtype).create(info->nctds, info->prec);
        return give(*vss, info->tdgst_dtype, data.data(), size);
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

extern "C" int stats_vss_hlpr_init(vsd_dtype voi_dtype, uint32_t nvss, voistatspec* vss) {
    if (vss == nullptr || nvss == 0) return EINVAL;
    for (uint32_t i = nvss; i-- > 0;) {
        if (vss[i].hlpr == nullptr) continue;
        const int error = vss[i].hlpr(voi_dtype, &vss[i], vss[i].hlprinfo);
        if (error != 0) return error;
    }
    return 0;
}

extern "C" void stats_vss_hlpr_cleanup(uint32_t nvss, voistatspec* vss) {
    if (vss == nullptr) return;
    for (uint32_t i = 0; i < nvss; ++i) {
        if (vss[i].hlpr == nullptr) continue;
        std::free(vss[i].iv);
        vss[i].iv = nullptr;
    }
}
