#include "tools/iostat/lateness.hpp"

#include <fmt/format.h>

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

}  // namespace

bool is_noticeable(const Histogram& lateness, const Histogram& times, kstat2::PerMillion p) {
    if (lateness.unit != "ns" || times.unit != "ns") return false;
    const auto late = percentile(lateness, p);
    const auto took = percentile(times, p);
    return late && took && *late >= *took / share_min;
}

std::string lateness_text(const Histogram& lateness) {
    const std::string most = bound_text(lateness, kstat2::whole);
    return fmt::format(
        "the server itself ended requests late: p99 {}, max {}, of {} requests, so figures above "
        "the model's by up to {} are the machine's",
        bound_text(lateness, kstat2::p99), most, lateness.count(), most);
}

std::optional<std::string> late_server_text(const Histograms& interval) {
    const auto lateness = interval.find(lateness_name);
    const auto times = of_transfers(interval, "total");
    if (lateness == interval.end() || !times) return {};
    if (!is_noticeable(lateness->second, *times, kstat2::p99)) return {};
    return lateness_text(lateness->second);
}

}  // namespace blkscope::iostat
