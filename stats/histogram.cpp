#include "stats/histogram.hpp"

namespace blkscope::stats {

HistogramForm histogram_form(int dtype) {
    const bool wide = dtype >= VSD_DTYPE_CRHIST64;
    switch (dtype) {
        case VSD_DTYPE_CRHIST32:
        case VSD_DTYPE_CRHIST64:
            return {Kind::continuous, wide, 16, 8};
        case VSD_DTYPE_DVHIST32:
        case VSD_DTYPE_DVHIST64:
            return {Kind::values, wide, 16, 8};
        default:
            return {Kind::ranges, wide, 24, 16};
    }
}

size_t bucket_count(const HistogramForm& form, size_t size) {
    if (size < histogram_head_size) return 0;
    const size_t buckets = size - histogram_head_size;
    return buckets % form.bucket_size == 0 ? buckets / form.bucket_size : 0;
}

namespace {

void count(void* place, bool wide, uint64_t more) {
    if (wide) {
        store(place, load<uint64_t>(place) + more);
    } else {
        store(place, static_cast<uint32_t>(load<uint32_t>(place) + more));
    }
}

uint64_t counted(const void* place, bool wide) {
    return wide ? load<uint64_t>(place) : load<uint32_t>(place);
}

// The number of buckets whose lower bound is not above value. The search halves without a branch
// that a processor could predict wrong: the bucket of a latency cannot be predicted.
template <class N>
size_t not_above(const std::byte* buckets, size_t count, N value) {
    size_t first = 0;
    for (size_t left = count; left > 0;) {
        const size_t half = left - left / 2;
        const bool up = !value.less(N::from(buckets + (first + half - 1) * 16));
        first = up ? first + half : first;
        left = left / 2;
    }
    return first;
}

template <class N>
bool takes(const HistogramForm& form, const std::byte* bucket, N value) {
    const N lower = N::from(bucket);
    if (form.kind == Kind::values) return !value.less(lower) && !lower.less(value);
    return !value.less(lower) && value.less(N::from(bucket + 8));
}

// One more than the index of the bucket that takes a value, or 0.
template <class N>
size_t bucket_of(const HistogramForm& form, const std::byte* buckets, size_t count, N value) {
    if (form.kind == Kind::continuous) return not_above(buckets, count, value);
    size_t n = count;
    while (n > 0 && !takes(form, buckets + (n - 1) * form.bucket_size, value)) --n;
    return n;
}

}  // namespace

template <class N>
void histogram_update(void* data, size_t size, int dtype, N value) {
    const HistogramForm form = histogram_form(dtype);
    auto* const buckets = static_cast<std::byte*>(data) + histogram_head_size;
    const size_t n =
        bucket_of(form, buckets, (size - histogram_head_size) / form.bucket_size, value);
    count(n == 0 ? data : buckets + (n - 1) * form.bucket_size + form.count_at, form.wide, 1);
}

template void histogram_update(void*, size_t, int, Integer<int32_t>);
template void histogram_update(void*, size_t, int, Integer<uint32_t>);
template void histogram_update(void*, size_t, int, Integer<int64_t>);
template void histogram_update(void*, size_t, int, Integer<uint64_t>);
template void histogram_update(void*, size_t, int, QNumber<s32q_t>);
template void histogram_update(void*, size_t, int, QNumber<u32q_t>);
template void histogram_update(void*, size_t, int, QNumber<s64q_t>);
template void histogram_update(void*, size_t, int, QNumber<u64q_t>);

bool is_in_order(const void* data, size_t size, int dtype, int voi_dtype) {
    const HistogramForm form = histogram_form(dtype);
    const auto* const buckets = static_cast<const std::byte*>(data) + histogram_head_size;
    const size_t n = bucket_count(form, size);
    return with_numeric(voi_dtype, [&](auto* number) {
        using N = Pointed<decltype(number)>;
        for (size_t i = 0; i < n; ++i) {
            const std::byte* const bucket = buckets + i * form.bucket_size;
            if (form.kind == Kind::ranges && N::from(bucket + 8).less(N::from(bucket)))
                return false;
            if (form.kind == Kind::continuous && i > 0 &&
                N::from(bucket).less(N::from(bucket - form.bucket_size)))
                return false;
        }
        return true;
    });
}

void histogram_reset(void* data, size_t size, int dtype) {
    const HistogramForm form = histogram_form(dtype);
    auto* const buckets = static_cast<std::byte*>(data) + histogram_head_size;
    store(data, uint64_t{0});
    for (size_t i = 0; i < bucket_count(form, size); ++i)
        store(buckets + i * form.bucket_size + form.count_at, uint64_t{0});
}

bool have_same_buckets(const void* data, const void* other, size_t size, int dtype) {
    const HistogramForm form = histogram_form(dtype);
    for (size_t i = 0; i < bucket_count(form, size); ++i) {
        const size_t at = histogram_head_size + i * form.bucket_size;
        if (std::memcmp(static_cast<const std::byte*>(data) + at,
                        static_cast<const std::byte*>(other) + at, form.count_at) != 0)
            return false;
    }
    return true;
}

int histogram_merge(void* data, const void* other, size_t size, int dtype) {
    const HistogramForm form = histogram_form(dtype);
    if (!have_same_buckets(data, other, size, dtype)) return EINVAL;
    auto* const to = static_cast<std::byte*>(data);
    const auto* const from = static_cast<const std::byte*>(other);
    count(to, form.wide, counted(from, form.wide));
    for (size_t i = 0; i < bucket_count(form, size); ++i) {
        const size_t at = histogram_head_size + i * form.bucket_size + form.count_at;
        count(to + at, form.wide, counted(from + at, form.wide));
    }
    return 0;
}

}  // namespace blkscope::stats
