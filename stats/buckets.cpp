#include <span>

#include "stats/histogram.hpp"

// The bounds of histograms, from the schemes that STATS_VSS_CRHIST64_LIN and its sisters name.
//
// Bounds are computed in integers wide enough for any of them; of Q numbers in units of their last
// bit. A bucket begins where the one before it ends. The first bucket that ends above the upper
// bound is the last one. So the upper bound always lies in it.
//
// A bound of 32 bits is stored in 64. The upper half has no meaning, but a template's hash covers
// it. So a bound of the caller is copied as it is: a negative one has a half of all ones. Computed
// bounds have the half of the first bound, as in the original. The half of a type's limit is 0.

namespace blkscope::stats {
namespace {

struct Bound {
    Wide units;
    uint64_t bytes;         // as the caller passed it; of a computed bound only the upper half
    bool is_given = false;  // whether `bytes` is the whole bound
};

struct Bucket {
    Bound lb;
    Bound ub;
};

// The range of the type, the ends of open buckets, and the value of 1 in the type's units.
struct Range {
    Wide min;
    Wide max;
    Wide open_min;
    Wide open_max;
    Wide one;
};

constexpr size_t buckets_max = blob_size_max / 16;
constexpr Wide beyond = static_cast<Wide>(1) << 100;  // above every bound of every type

template <class N>
Range range_of(typename N::Stored like) {
    using T = typename N::Stored;
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        const unsigned bits = Q_NFBITS(like);
        const auto units = [&](T number) { return N{number}.fixed(bits); };
        return {units(limit<N>(LIM_MIN, like)), units(limit<N>(LIM_MAX, like)),
                units(initial_limit<N>(LIM_MIN, like)), units(initial_limit<N>(LIM_MAX, like)),
                static_cast<Wide>(1) << bits};
    } else {
        const Wide min = limit<N>(LIM_MIN, like);
        const Wide max = limit<N>(LIM_MAX, like);
        return {min, max, min, max, 1};
    }
}

template <class N>
Bound bound_of(const voistatdata_numeric& bound, typename N::Stored like) {
    using T = typename N::Stored;
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        return {N::from(&bound).fixed(Q_NFBITS(like)), bound.int64.u64, true};
    } else {
        return {N::from(&bound).fixed(0), bound.int64.u64, true};
    }
}

// base^exponent, or `beyond` from there on.
Wide power(uint64_t base, uint64_t exponent) {
    Wide result = 1;
    if (base <= 1) return exponent == 0 ? 1 : static_cast<Wide>(base);
    for (; exponent > 0 && result < beyond; --exponent) result *= static_cast<Wide>(base);
    return result < beyond ? result : beyond;
}

// The width of bucket n, which begins at b; 0 if the scheme has none.
Wide step(const vss_hist_hlpr_info& info, uint64_t n, Wide b, Wide one) {
    switch (info.scheme) {
        case vss_hist_hlpr_info::BKT_LIN:
            return static_cast<Wide>(info.lin.stepinc) * one;
        case vss_hist_hlpr_info::BKT_EXP: {
            const uint64_t exponent = info.exp.stepexp + n;
            const Wide width = exponent < n ? beyond : power(info.exp.stepbase, exponent);
            return width < beyond ? width * one : beyond;
        }
        default: {
            const auto base = static_cast<Wide>(info.linexp.stepbase);
            if (base < 2 || info.linexp.linstepdiv == 0) return 0;
            Wide bound = base;
            while (bound <= b / one) {
                if (bound > beyond / base) return beyond;
                bound *= base;
            }
            const Wide width = bound / static_cast<Wide>(info.linexp.linstepdiv);
            return (width > 1 ? width : 1) * one;
        }
    }
}

// EINVAL: no step, or a bucket that would end beyond what the type can say.
int generate(const vss_hist_hlpr_info& info, const Range& range, Bound lb, Wide ub,
             std::vector<Bucket>& buckets) {
    Bound b = lb;
    for (uint64_t n = 0; b.units <= ub || n == 0; ++n) {
        const Wide width = step(info, n, b.units, range.one);
        if (width <= 0 || width > range.max - b.units) return EINVAL;
        if (buckets.size() == buckets_max) return EFBIG;
        const Bound end{b.units + width, lb.bytes};
        buckets.push_back({b, end});
        b = end;
    }
    return 0;
}

template <class N>
int given(const vss_hist_hlpr_info& info, typename N::Stored like, std::vector<Bucket>& buckets) {
    if (info.usr.bkts == nullptr || info.usr.nbkts == 0) return EINVAL;
    for (const stats_hist_bkt& bkt : std::span(info.usr.bkts, info.usr.nbkts))
        buckets.push_back({bound_of<N>(bkt.lb, like), bound_of<N>(bkt.ub, like)});
    return 0;
}

// Adds buckets that reach to the ends of the type. The ends of Q numbers are the original's. If the
// given bounds lie beyond those ends, the true ones are used. Of bounds that are given as
// continuous ranges the last has no end anyway.
void open_ends(const vss_hist_hlpr_info& info, const Range& range, Kind kind,
               std::vector<Bucket>& buckets) {
    const Bucket first = buckets.front();
    const Bucket last = buckets.back();
    if ((info.flags & VSD_HIST_LBOUND_INF) != 0) {
        const auto least = range.open_min <= first.lb.units ? range.open_min : range.min;
        buckets.insert(buckets.begin(), {{least, 0}, first.lb});
    }
    const bool open = kind == Kind::continuous && last.ub.units <= last.lb.units;
    if ((info.flags & VSD_HIST_UBOUND_INF) != 0 && !open) {
        const auto most = range.open_max >= last.ub.units ? range.open_max : range.max;
        buckets.push_back({last.ub, {most, 0}});
    }
}

template <class N>
void put(std::byte* place, const Bound& bound, typename N::Stored like) {
    using T = typename N::Stored;
    store(place, bound.bytes);
    if (bound.is_given) return;
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        T raw = static_cast<T>(Q_GCRAW(like));
        Q_SIFVAL(raw, static_cast<int64_t>(bound.units));
        store(place, raw);
    } else {
        (void)like;
        store(place, static_cast<T>(bound.units));
    }
}

template <class N>
void write(const std::vector<Bucket>& buckets, const HistogramForm& form, typename N::Stored like,
           std::vector<std::byte>& data) {
    data.assign(histogram_head_size + buckets.size() * form.bucket_size, std::byte{0});
    std::byte* bucket = data.data() + histogram_head_size;
    for (const Bucket& bounds : buckets) {
        put<N>(bucket, bounds.lb, like);
        if (form.kind == Kind::ranges) put<N>(bucket + 8, bounds.ub, like);
        bucket += form.bucket_size;
    }
}

template <class N>
int make(const vss_hist_hlpr_info& info, int voi_dtype, std::vector<std::byte>& data) {
    const HistogramForm form = histogram_form(info.hist_dtype);
    const bool usr = info.scheme == vss_hist_hlpr_info::BKT_USR;
    if (usr && info.usr.bkts == nullptr) return EINVAL;
    const auto like = N::from(usr ? &info.usr.bkts[0].lb : &info.lb).value;
    const Range range = range_of<N>(like);
    std::vector<Bucket> buckets;
    const int error = usr ? given<N>(info, like, buckets)
                          : generate(info, range, bound_of<N>(info.lb, like),
                                     bound_of<N>(info.ub, like).units, buckets);
    if (error != 0) return error;
    open_ends(info, range, form.kind, buckets);
    if (histogram_head_size + buckets.size() * form.bucket_size > blob_size_max) return EFBIG;
    write<N>(buckets, form, like, data);
    return is_in_order(data.data(), data.size(), info.hist_dtype, voi_dtype) ? 0 : EINVAL;
}

}  // namespace

int make_buckets(const vss_hist_hlpr_info& info, int voi_dtype, std::vector<std::byte>& data) {
    const bool known = info.scheme <= vss_hist_hlpr_info::BKT_USR &&
                       is_histogram(info.hist_dtype) && is_numeric(voi_dtype);
    if (!known) return EINVAL;
    const bool usr = info.scheme == vss_hist_hlpr_info::BKT_USR;
    const Kind kind = histogram_form(info.hist_dtype).kind;
    constexpr uint32_t ends = VSD_HIST_LBOUND_INF | VSD_HIST_UBOUND_INF;
    if (kind == Kind::values && ((info.flags & ends) != 0 || !usr)) return EINVAL;
    return with_numeric(voi_dtype, [&](auto* number) {
        return make<Pointed<decltype(number)>>(info, voi_dtype, data);
    });
}

}  // namespace blkscope::stats
