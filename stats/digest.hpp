// t-digests: many values in few centroids. Centroids are narrow at the ends of the distribution and
// wide in its middle. So the quantiles at the ends are the exact ones.
//
// The layout is FreeBSD's: a fixed number of centroids in a red-black tree ordered by their mean.
// The algorithm is the paper's merging one and not FreeBSD's, which loses values and whose
// centroids grow without bound. A new value takes a free centroid. When none is left, one pass over
// the tree merges neighbours. A merged centroid spans no more than 1 of the scale function
//
//     k(q) = d / 2 pi * asin(2q - 1),    d = the number of centroids
//
// The pass leaves between d/2 and d of them. Counts always add up to the number of values. A mean
// is rounded to its precision, never refused.
//
// Source: Dunning and Ertl, "Computing Extremely Accurate Quantiles Using t-Digests".
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/numeric.hpp"

namespace blkscope::stats {

/// A centroid as others see it.
struct Centroid {
    double mean;
    int64_t count;
    int64_t units;  // the mean in 2^-fraction_bits()
    q_num_ mu;      // as it is stored
};

/// One of the two layouts over the bytes of a blob.
/// Ownership: borrows the bytes. Threads: the blob's writer.
class Digest {
  public:
    /// A centroid's values lie around its mean, half of them below it. A centroid of a single value
    /// is that value. So a mean is the value of the rank in the middle of its centroid. A single
    /// value is the value of its whole rank. Between two such ranks we draw a line.
    struct Answer {
        double from;  // ranks; from == to where it is but a point
        double to;
        double value;
    };

    /// data must be one: see is_digest_sound().
    Digest(void* data, int dtype) : data_(static_cast<std::byte*>(data)), dtype_(dtype) {}

    static size_t size_for(int dtype, size_t centroids);
    /// Centroids that `size` bytes are, or 0 if they are not a whole number.
    static size_t centroids_in(int dtype, size_t size);

    /// Writes an empty digest with n centroids and so many bits of fraction.
    void create(size_t n, unsigned precision);
    /// Empties it; the precision stays.
    void reset();

    /// Counts a value `weight` times.
    /// Units:  `fixed` in 2^-fraction_bits().
    /// Errors: EOVERFLOW if a mean or a count could not hold it; the digest is as it was.
    int add(Wide fixed, int64_t weight);
    /// Merges neighbours as add() does when there is no room. A value added since the last merge
    /// may lie within the span of a neighbour. Then the centroids are out of order. So a quantile
    /// is computed on a copy after this merge. Values that are all still single stay so.
    void compress();
    /// Adds all that another counted. Errors: the last of add()'s.
    int merge(const Digest& other);

    unsigned fraction_bits() const;
    uint64_t samples() const;
    uint32_t compressions() const;
    size_t centroids_max() const;
    size_t centroids() const;

    /// In the order of the array; and the smallest (-1: none) and the next of the tree.
    Centroid centroid(size_t index) const;
    int first() const;
    int next(int index) const;

    /// The value at the share q of all, and the share of the values up to x.
    /// Units:  `min` and `max` are the extremes of all values, NaN where not known.
    /// Errors: there must be samples.
    double quantile(double q, double min, double max) const;
    double cdf(double x, double min, double max) const;

  private:
    std::vector<Answer> answers(double min, double max) const;

    std::byte* data_;
    int dtype_;
};

/// Whether the bytes are a digest whose tree, free chain and counts are as add() needs them.
/// Reads nothing outside.
bool is_digest_sound(const void* data, size_t size, int dtype);

}  // namespace blkscope::stats
