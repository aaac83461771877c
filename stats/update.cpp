#include "stats/digest.hpp"
#include "stats/histogram.hpp"

// Feeding a blob: the path that a program takes for every value it measures. This path neither
// allocates nor locks.

namespace blkscope::stats {
namespace {

template <class N>
int update_sum(VoiStat& vs, void* data, N value) {
    N sum = N::from(data);
    const int error = sum.add(value);
    if (error != 0) return error;
    sum.to(data);
    vs.flags |= vs_valid;
    return 0;
}

// An extreme that was only ever fed the worst value of its type stays "never updated". Readers of
// blobs depend on this rule.
template <class N>
int update_extreme(VoiStat& vs, void* data, N value) {
    const N extreme = N::from(data);
    const bool better = vs.stype == VS_STYPE_MAX ? extreme.less(value) : value.less(extreme);
    if (better) {
        value.to(data);
        vs.flags |= vs_valid;
    }
    return 0;
}

template <class N>
int update_digest(VoiStat& vs, void* data, N value) {
    Digest digest(data, vs.dtype);
    const int error = digest.add(value.fixed(digest.fraction_bits()), 1);
    if (error == 0) vs.flags |= vs_valid;
    return error;
}

template <class N>
int update_stat(Blob* blob, VoiStat& vs, N value) {
    void* const data = data_of(blob, vs);
    switch (vs.stype) {
        case VS_STYPE_SUM:
            return update_sum(vs, data, value);
        case VS_STYPE_MAX:
        case VS_STYPE_MIN:
            return update_extreme(vs, data, value);
        case VS_STYPE_HIST:
            histogram_update(data, vs.dsz, vs.dtype, value);
            vs.flags |= vs_valid;
            return 0;
        case VS_STYPE_TDGST:
            return update_digest(vs, data, value);
        default:
            return 0;  // vacant
    }
}

// The value before, which a relative update adds to. Of Q numbers the first one brings the
// precision.
template <class N>
int make_absolute(const void* state, N& value) {
    using T = typename N::Stored;
    const N before = N::from(state);
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        if (Q_GIFABSVAL(before.value) == 0) return 0;
    }
    return value.add(before);
}

template <class N>
int update(Blob* blob, const Voi& voi, N value, bool relative) {
    VoiStat* const group = voistats(blob, voi);
    if ((voi.flags & voi_reg_state) != 0) {
        void* const state = data_of(blob, group[VS_STYPE_VOISTATE]);
        const int error = relative ? make_absolute(state, value) : 0;
        if (error != 0) return error;
        value.to(state);
    }
    int last_error = 0;
    for (int stype = voi.voistatmaxid; stype > VS_STYPE_VOISTATE; --stype) {
        VoiStat& vs = group[stype];
        const int error = update_stat(blob, vs, value);
        if (error == 0) continue;
        if (vs.errs < UINT8_MAX) ++vs.errs;
        last_error = error;
    }
    return last_error;
}

}  // namespace
}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" int stats_v1_voi_update(statsblobv1* sb, int32_t voi_id, vsd_dtype voi_dtype,
                                   voistatdata* voival, uint32_t flags) {
    if (sb == nullptr || sb->abi != STATS_ABI_V1 || voival == nullptr) return EINVAL;
    if (sb->endian != host_endian) return EFTYPE;
    const Voi* const voi = find_voi(sb, voi_id);
    if (voi == nullptr || voi->dtype != voi_dtype || !is_numeric(voi_dtype)) return EINVAL;
    const bool relative = (flags & SB_VOI_RELUPDATE) != 0;
    if (relative && (voi->flags & voi_reg_state) == 0) return EINVAL;
    return with_numeric(voi_dtype, [&](auto* number) {
        return update(sb, *voi, Pointed<decltype(number)>::from(voival), relative);
    });
}
