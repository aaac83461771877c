#include "tools/iostat/lateness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/program/time_text.hpp"

namespace blkscope::iostat {
namespace {

constexpr uint64_t share_min = 10;  // of the times, one in so many

// The bound behind the bucket's last nanosecond, which has few digits.
std::string bound_text(const Histogram& histogram, kstat2::PerMillion p) {
    const auto last = percentile(histogram, p).value_or(0);
    const bool is_open = last == histogram.shape.lower(histogram.shape.count() - 1);
    return program::time_text(static_cast<double>(is_open ? last : last + 1), 6);
}

// Of the times, each taken as its bucket's lower bound.
double least_sum(const Histogram& histogram) {
    double sum = 0;
    for (uint32_t i = 0; i < histogram.counts.size(); ++i) {
        sum += static_cast<double>(histogram.counts[i]) *
               static_cast<double>(histogram.shape.lower(i));
    }
    return sum;
}

}  // namespace

bool is_noticeable(const Histogram& lateness, const Histogram& times, kstat2::PerMillion p) {
    if (lateness.unit != "ns" || times.unit != "ns") return false;
    std::vector<uint64_t> counts = lateness.counts;
    const uint64_t unplanned = times.count() - std::min(times.count(), lateness.count());
    if (counts.empty()) return false;
    counts.front() += unplanned;
    const auto late = kstat2::percentile_bucket(counts, p);
    const auto took = percentile(times, p);
    if (!late || !took) return false;
    const uint64_t late_ns = lateness.shape.lower(static_cast<uint32_t>(*late));
    return late_ns > 0 && late_ns >= *took / share_min;
}

bool is_noticeable_in_mean(const Histogram& lateness, const Histogram& times) {
    if (lateness.unit != "ns" || times.unit != "ns") return false;
    const double late_ns = least_sum(lateness);
    return late_ns > 0 && late_ns >= least_sum(times) / share_min;
}

std::string lateness_text(const Histogram& lateness) {
    const std::string most = bound_text(lateness, kstat2::whole);
    return fmt::format(
        "the server itself ended requests late: p99 {}, max {}, of {} request{}, so figures above "
        "the model's by up to {} are the machine's",
        bound_text(lateness, kstat2::p99), most, lateness.count(), lateness.count() == 1 ? "" : "s",
        most);
}

std::optional<std::string> late_server_text(const Histograms& interval) {
    const auto lateness = interval.find(lateness_name);
    const auto times = of_transfers(interval, "total");
    if (lateness == interval.end() || !times) return {};
    if (!is_noticeable(lateness->second, *times, kstat2::p99)) return {};
    return lateness_text(lateness->second);
}

}  // namespace blkscope::iostat
