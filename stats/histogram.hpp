// Histograms in a blob: a head with the count of values out of every bucket, then buckets. A bucket
// is one bound or two, and a count. A bound has 8 bytes; a narrower type is in the less significant
// part. A count takes 8 bytes, also when it has 32 bits.
#pragma once
#include <vector>

#include "stats/numeric.hpp"

namespace blkscope::stats {

struct HistogramForm {
    enum class Kind { continuous, ranges, values } kind;
    bool wide;           // counts of 64 bits
    size_t bucket_size;  // bytes
    size_t count_at;     // bytes into a bucket; the second bound is 8 before it
};

using Kind = HistogramForm::Kind;

constexpr size_t histogram_head_size = 8;

HistogramForm histogram_form(int dtype);

/// Buckets that a histogram of `size` bytes has, or 0 if it cannot be one.
size_t bucket_count(const HistogramForm& form, size_t size);

/// Whether its bounds ascend as they must for a search. Source: our own; the original does not ask.
bool is_in_order(const void* data, size_t size, int dtype, int voi_dtype);

/// Counts a value, in the last bucket that takes it.
/// Threads: the blob's writer.
template <class N>
void histogram_update(void* data, size_t size, int dtype, N value);

/// Counts to 0; bounds stay.
void histogram_reset(void* data, size_t size, int dtype);

/// Adds the counts of another histogram with the same bounds. EINVAL if they differ.
int histogram_merge(void* data, const void* other, size_t size, int dtype);

/// The same bounds?
bool have_same_buckets(const void* data, const void* other, size_t size, int dtype);

/// Makes the buckets that a helper was asked for into `data`.
/// Errors: EINVAL, EFBIG, as stats_tpl_add_voistats() returns them.
int make_buckets(const vss_hist_hlpr_info& info, int voi_dtype, std::vector<std::byte>& data);

}  // namespace blkscope::stats
