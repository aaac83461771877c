#include "tools/iostat/histograms.hpp"

#include <algorithm>

namespace blkscope::iostat {
namespace {

// Adds the counts of `other` to `sum`.
void add(Histogram& sum, const Histogram& other) {
    sum.counts.resize(std::max(sum.counts.size(), other.counts.size()));
    for (size_t i = 0; i < other.counts.size(); ++i) sum.counts[i] += other.counts[i];
    sum.sum = sum.sum && other.sum ? std::optional(*sum.sum + *other.sum) : std::nullopt;
}

}  // namespace

bool Histogram::like(const Histogram& other) const {
    return shape.type() == other.shape.type() && shape.range_min() == other.shape.range_min() &&
           shape.range_max() == other.shape.range_max() &&
           shape.stepping() == other.shape.stepping() && unit == other.unit;
}

Histograms difference(const Histograms& before, const Histograms& now) {
    Histograms since = now;
    for (auto& [name, histogram] : since) {
        const auto old = before.find(name);
        if (old == before.end() || old->second.crtime != histogram.crtime) continue;
        if (!old->second.like(histogram)) continue;
        histogram.counts = kstat2::difference(old->second.counts, histogram.counts);
        if (histogram.sum && old->second.sum) *histogram.sum -= *old->second.sum;
    }
    return since;
}

std::optional<Histogram> of_transfers(const Histograms& histograms, std::string_view phase) {
    std::optional<Histogram> sum;
    for (const char* operation : {"read_", "write_"}) {
        const auto found = histograms.find(operation + std::string(phase));
        if (found == histograms.end()) continue;
        if (!sum) {
            sum = found->second;
        } else if (sum->like(found->second)) {
            add(*sum, found->second);
        }
    }
    return sum;
}

std::optional<uint64_t> percentile(const Histogram& histogram, kstat2::PerMillion p) {
    const kstat2::Buckets& shape = histogram.shape;
    const auto bucket = kstat2::percentile_bucket(histogram.counts, p);
    if (!bucket || *bucket >= shape.count()) return {};
    const auto index = static_cast<uint32_t>(*bucket);
    return index + 1 == shape.count() ? shape.lower(index) : shape.upper(index);
}

}  // namespace blkscope::iostat
