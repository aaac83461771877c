// Blobs: made from templates, copied, reset, read, merged.
#include <blkscope/stats.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#include "stats/digest.hpp"
#include "stats/histogram.hpp"
#include "stats/templates.hpp"
#include "stats/validate.hpp"

namespace blkscope::stats {
namespace {

// CLOCK_MONOTONIC as seconds and a binary fraction of 32 bits.
int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const auto fraction = (static_cast<uint64_t>(t.tv_nsec) << 32) / 1'000'000'000;
    return static_cast<int64_t>(static_cast<uint64_t>(t.tv_sec) << 32 | fraction);
}

void init_from(Blob* blob, const statsblob_tpl& tpl) {
    const auto* const from = reinterpret_cast<const Blob*>(tpl.sb);
    std::memcpy(static_cast<void*>(blob), from, from->cursz);
    blob->tplhash = tpl.mb->tplhash;
    blob->created = blob->lastrst = now();
}

template <class N>
void reset_numeric(const VoiStat& vs, void* data) {
    using T = typename N::Stored;
    T value = 0;
    if constexpr (std::is_same_v<N, QNumber<T>>) value = static_cast<T>(Q_GCRAW(load<T>(data)));
    if (vs.stype == VS_STYPE_MAX) value = limit<N>(LIM_MIN, value);
    if (vs.stype == VS_STYPE_MIN) value = limit<N>(LIM_MAX, value);
    store(data, value);
}

void reset_stat(VoiStat& vs, void* data) {
    if (vs.stype < 0 || vs.stype == VS_STYPE_VOISTATE) return;  // the value before stays
    if (is_histogram(vs.dtype)) {
        histogram_reset(data, vs.dsz, vs.dtype);
    } else if (is_digest(vs.dtype)) {
        Digest(data, vs.dtype).reset();
    } else {
        with_numeric(vs.dtype, [&](auto* n) { reset_numeric<Pointed<decltype(n)>>(vs, data); });
    }
    vs.errs = 0;
    vs.flags = static_cast<uint8_t>(vs.flags & ~vs_valid);
}

template <class F>
void for_each_stat(Blob* blob, F f) {
    for (size_t i = 0; i < voi_count(*blob); ++i) {
        const Voi& voi = vois(blob)[i];
        for (int stype = 0; stype <= voi.voistatmaxid; ++stype) f(voi, voistats(blob, voi)[stype]);
    }
}

void reset(Blob* blob) {
    for_each_stat(blob, [&](const Voi&, VoiStat& vs) { reset_stat(vs, data_of(blob, vs)); });
    blob->lastrst = now();
}

// Copies everything but maxsz, which is the size of a blob's own memory. Into memory that is too
// short, only the public header is copied. From this header the caller gets the size.
void copy(Blob* dst, const Blob* src, size_t size) {
    constexpr size_t skip = offsetof(Blob, cursz);
    std::memcpy(static_cast<void*>(dst), src, offsetof(Blob, maxsz));
    std::memcpy(at<std::byte>(dst, skip), at<std::byte>(src, skip), size - skip);
}

int clone(Blob** dst, size_t dstmaxsz, const Blob* src, uint32_t flags) {
    constexpr uint32_t user = SB_CLONE_USRDST | SB_CLONE_USRDSTNOFAULT;
    const bool allocate = (flags & SB_CLONE_ALLOCDST) != 0;
    if (src == nullptr || dst == nullptr) return EINVAL;
    if (src->endian != host_endian) return EFTYPE;  // cursz, too, is in the other order
    if (src->cursz < sizeof(statsblob)) return EINVAL;
    if (allocate && (flags & user) != 0) return EINVAL;
    if (allocate) {
        auto* const blob = static_cast<Blob*>(std::malloc(src->cursz));
        if (blob == nullptr) return ENOMEM;
        blob->maxsz = src->cursz;
        copy(blob, src, src->cursz);
        *dst = blob;
        return 0;
    }
    if (*dst == nullptr || dstmaxsz < sizeof(statsblob)) return EINVAL;
    const bool fits = dstmaxsz >= src->cursz;
    copy(*dst, src, fits ? src->cursz : sizeof(statsblob));
    return fits ? 0 : EOVERFLOW;
}

template <class N>
int merge_numeric(VoiStat& to, void* data, const void* other) {
    N value = N::from(data);
    const N more = N::from(other);
    int error = 0;
    if (to.stype == VS_STYPE_SUM) {
        error = value.add(more);
    } else if (to.stype == VS_STYPE_MAX ? value.less(more) : more.less(value)) {
        value = more;
    }
    if (error == 0) value.to(data);
    return error;
}

int merge_stat(VoiStat& to, void* data, const VoiStat& from, const void* other) {
    if (is_histogram(to.dtype)) return histogram_merge(data, other, to.dsz, to.dtype);
    if (is_digest(to.dtype)) {
        // Reading does not change it; Digest has no second face for that.
        const Digest source(const_cast<void*>(other), from.dtype);
        return Digest(data, to.dtype).merge(source);
    }
    return with_numeric(to.dtype, [&](auto* number) {
        return merge_numeric<Pointed<decltype(number)>>(to, data, other);
    });
}

bool have_same_form(Blob* a, Blob* b) {
    if (a->tplhash != b->tplhash || a->cursz != b->cursz || a->stats_off != b->stats_off ||
        a->statsdata_off != b->statsdata_off)
        return false;
    bool same = std::memcmp(vois(a), vois(b), a->stats_off - sizeof(Blob)) == 0;
    if (!same) return false;
    for_each_stat(a, [&](const Voi& voi, const VoiStat& x) {
        const VoiStat& y = voistats(b, voi)[&x - voistats(a, voi)];
        same = same && x.stype == y.stype && x.dtype == y.dtype && x.dsz == y.dsz &&
               x.data_off == y.data_off &&
               (x.stype < 0 || !is_histogram(x.dtype) ||
                have_same_buckets(data_of(a, x), data_of(b, y), x.dsz, x.dtype));
    });
    return same;
}

int merge(Blob* dst, Blob* src) {
    int last_error = 0;
    for_each_stat(dst, [&](const Voi& voi, VoiStat& to) {
        const VoiStat& from = voistats(src, voi)[&to - voistats(dst, voi)];
        const bool counted = to.stype > VS_STYPE_VOISTATE && (from.flags & vs_valid) != 0;
        const int error = counted ? merge_stat(to, data_of(dst, to), from, data_of(src, from)) : 0;
        const int errs = to.errs + from.errs + (error != 0 ? 1 : 0);
        if (to.stype > VS_STYPE_VOISTATE)
            to.errs = static_cast<uint8_t>(errs > UINT8_MAX ? UINT8_MAX : errs);
        if (counted && error == 0) to.flags |= vs_valid;
        if (error != 0) last_error = error;
    });
    return last_error;
}

// A statistic of a VOI by its number, or null.
const VoiStat* find_stat(Blob* blob, int32_t voi_id, int stype) {
    const Voi* const voi = find_voi(blob, voi_id);
    if (voi == nullptr || stype < 0 || stype > voi->voistatmaxid) return nullptr;
    return &voistats(blob, *voi)[stype];
}

double extreme_of(Blob* blob, int32_t voi_id, int stype) {
    const VoiStat* const vs = find_stat(blob, voi_id, stype);
    if (vs == nullptr || vs->stype < 0 || (vs->flags & vs_valid) == 0)
        return std::numeric_limits<double>::quiet_NaN();
    return with_numeric(vs->dtype, [&](auto* number) {
        return Pointed<decltype(number)>::from(data_of(blob, *vs)).real();
    });
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// The result of f, which allocates memory. A caller in C gets ENOMEM instead of an exception.
template <class F>
int answer(F f) {
    try {
        return f();
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

// Calls f with the digest of a VOI and the extremes of its values.
template <class F>
int ask(statsblob* sb, int32_t voi_id, F f) {
    auto* const blob = reinterpret_cast<Blob*>(sb);
    const int error = validate(blob);
    if (error != 0) return error;
    const VoiStat* const vs = find_stat(blob, voi_id, VS_STYPE_TDGST);
    if (vs == nullptr || vs->stype < 0) return EINVAL;
    const Digest digest(data_of(blob, *vs), vs->dtype);
    if (digest.samples() == 0) return ENOENT;
    return answer([&] {
        f(digest, extreme_of(blob, voi_id, VS_STYPE_MIN), extreme_of(blob, voi_id, VS_STYPE_MAX));
        return 0;
    });
}

bool is_whole_digest(const voistatdata* data, vsd_dtype dtype, size_t size) {
    return data != nullptr && is_digest(dtype) && is_digest_sound(data, size, dtype);
}

template <class F>
int ask(const voistatdata* data, vsd_dtype dtype, size_t size, F f) {
    return answer([&] {
        if (!is_whole_digest(data, dtype, size)) return EINVAL;
        const Digest digest(const_cast<voistatdata*>(data), dtype);
        if (digest.samples() == 0) return ENOENT;
        f(digest, unknown, unknown);
        return 0;
    });
}

bool is_share(double q) {
    return q >= 0 && q <= 1;
}

}  // namespace
}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" {

statsblobv1* stats_v1_blob_alloc(uint32_t tpl_id, uint32_t) {
    Blob* blob = nullptr;
    with_template(tpl_id, [&](const statsblob_tpl& tpl) {
        blob = static_cast<Blob*>(std::malloc(tpl.sb->cursz));
        if (blob != nullptr) init_from(blob, tpl);
    });
    return blob;
}

// The blob's maxsz says how much memory there is. Afterwards maxsz says how much of it the blob may
// use, as in the original.
int stats_v1_blob_init(statsblobv1* sb, uint32_t tpl_id, uint32_t) {
    int error = EINVAL;
    if (sb == nullptr) return error;
    with_template(tpl_id, [&](const statsblob_tpl& tpl) {
        error = sb->maxsz < tpl.sb->cursz ? EOVERFLOW : 0;
        if (error == 0) init_from(sb, tpl);
    });
    return error;
}

void stats_v1_blob_destroy(statsblobv1* sb) {
    std::free(sb);
}

int stats_v1_blob_clone(statsblobv1** dst, size_t dstmaxsz, statsblobv1* src, uint32_t flags) {
    return clone(dst, dstmaxsz, src, flags);
}

int stats_v1_blob_snapshot(statsblobv1** dst, size_t dstmaxsz, statsblobv1* src, uint32_t flags) {
    const int invalid = validate(src);
    if (invalid != 0) return invalid == EFTYPE ? EINVAL : invalid;
    const int error = clone(dst, dstmaxsz, src, flags);
    if (error == 0 && (flags & SB_CLONE_RSTSRC) != 0) reset(src);
    return error;
}

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
int stats_v1_voistat_fetch_dptr(statsblobv1* sb, int32_t voi_id, voi_stype stype,
                                vsd_dtype* retdtype, voistatdata** retvsd, size_t* retvsdsz) {
    if (retvsd == nullptr || sb == nullptr || sb->abi != STATS_ABI_V1) return EINVAL;
    if (sb->endian != host_endian) return EFTYPE;
    const VoiStat* const vs = find_stat(sb, voi_id, stype);
    if (vs == nullptr) return EINVAL;
    *retvsd = data_of(sb, *vs);  // of a vacant slot: dtype 0 and the blob's start, as the original
    if (retdtype != nullptr) *retdtype = static_cast<vsd_dtype>(vs->dtype);
    if (retvsdsz != nullptr) *retvsdsz = vs->dsz;
    return 0;
}

int stats_blob_merge(statsblob* dst, statsblob* src) {
    auto* const to = reinterpret_cast<Blob*>(dst);
    auto* const from = reinterpret_cast<Blob*>(src);
    if (to == from || validate(to) != 0 || validate(from) != 0) return EINVAL;
    return have_same_form(to, from) ? merge(to, from) : EINVAL;
}

int stats_voi_quantile(statsblob* sb, int32_t voi_id, double q, double* value) {
    if (!is_share(q) || value == nullptr) return EINVAL;
    return ask(sb, voi_id, [&](const Digest& digest, double min, double max) {
        *value = digest.quantile(q, min, max);
    });
}

int stats_voi_cdf(statsblob* sb, int32_t voi_id, double x, double* share) {
    if (std::isnan(x) || share == nullptr) return EINVAL;
    return ask(sb, voi_id, [&](const Digest& digest, double min, double max) {
        *share = digest.cdf(x, min, max);
    });
}

int stats_tdgst_quantile(const voistatdata* digest, vsd_dtype dtype, size_t size, double q,
                         double* value) {
    if (!is_share(q) || value == nullptr) return EINVAL;
    return ask(digest, dtype, size,
               [&](const Digest& d, double min, double max) { *value = d.quantile(q, min, max); });
}

int stats_tdgst_cdf(const voistatdata* digest, vsd_dtype dtype, size_t size, double x,
                    double* share) {
    if (std::isnan(x) || share == nullptr) return EINVAL;
    return ask(digest, dtype, size,
               [&](const Digest& d, double min, double max) { *share = d.cdf(x, min, max); });
}

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
int stats_tdgst_merge(voistatdata* dst, vsd_dtype dst_dtype, size_t dst_size,
                      const voistatdata* src, vsd_dtype src_dtype, size_t src_size) {
    return answer([&] {
        if (dst == src || !is_whole_digest(dst, dst_dtype, dst_size) ||
            !is_whole_digest(src, src_dtype, src_size))
            return EINVAL;
        const Digest source(const_cast<voistatdata*>(src), src_dtype);
        return Digest(dst, dst_dtype).merge(source);
    });
}
}
