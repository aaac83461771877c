#include "tools/iostat/json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tools/iostat/columns.hpp"

namespace blkscope::iostat {
namespace {

using program::Json;

constexpr double bytes_per_kilobyte = 1024;

Json or_null(bool known, double value) {
    return known ? Json(value) : Json();
}

Json counters(const kstat_io_t& io) {
    return {{"reads", io.reads},      {"writes", io.writes},
            {"read_bytes", io.nread}, {"written_bytes", io.nwritten},
            {"wtime_ns", io.wtime},   {"wlentime_ns", io.wlentime},
            {"rtime_ns", io.rtime},   {"rlentime_ns", io.rlentime},
            {"wcnt", io.wcnt},        {"rcnt", io.rcnt}};
}

Json record_value(const ErrorRecord& record) {
    if (const auto* text = std::get_if<std::string>(&record.value)) return *text;
    if (const auto* narrow = std::get_if<uint32_t>(&record.value)) return *narrow;
    if (const auto* wide = std::get_if<uint64_t>(&record.value)) return *wide;
    return {};
}

Json errors(const Device& device, const Figures& f) {
    if (device.errors.empty()) return {};
    Json records = Json::object();
    for (const ErrorRecord& record : device.errors) {
        if (!record.name.empty()) records[record.name] = record_value(record);
    }
    const auto count = [](double errors) { return static_cast<uint64_t>(errors); };
    return {{"soft", count(f.soft_errors)},
            {"hard", count(f.hard_errors)},
            {"transport", count(f.transport_errors)},
            {"total", count(f.errors)},
            {"records", records}};
}

Json histogram_object(const Histogram& histogram) {
    const uint64_t count = histogram.count();
    if (count == 0) return {};
    const kstat2::Buckets& shape = histogram.shape;
    Json bounds = Json::array();
    for (uint32_t i = 1; i < histogram.counts.size(); ++i) bounds.push_back(shape.lower(i));
    return {{"type", histogram_types.at(shape.type())},
            {"range_min", shape.range_min()},
            {"range_max", shape.range_max()},
            {"stepping", shape.stepping()},
            {"unit", histogram.unit},
            {"bounds", bounds},
            {"counts", histogram.counts},
            {"sum", histogram.sum},
            {"count", count}};
}

Json histograms_object(const Histograms& interval) {
    Json object = Json::object();
    for (const auto& [name, histogram] : interval) object[name] = histogram_object(histogram);
    return object;
}

Json percentiles_object(const Histograms& interval) {
    constexpr std::array<std::pair<const char*, kstat2::PerMillion>, 5> shares{
        {{"p50_ns", kstat2::p50},
         {"p90_ns", kstat2::p90},
         {"p99_ns", kstat2::p99},
         {"p99_9_ns", kstat2::p999},
         {"max_ns", kstat2::whole}}};
    Json object = Json::object();
    for (const char* phase : {"wait", "service", "total", "receive", "reply"}) {
        const auto histogram = of_transfers(interval, phase);
        for (const auto& [key, p] : shares) {
            const auto ns = histogram ? percentile(*histogram, p) : std::nullopt;
            object[phase][key] = ns;
        }
    }
    return object;
}

// Adds null if the device has no histograms.
void add_histograms(Json& object, const Histograms& interval) {
    const bool any = !interval.empty();
    object["percentiles"] = any ? percentiles_object(interval) : Json();
    object["histograms"] = any ? histograms_object(interval) : Json();
}

Json device_object(const Device& device, const Figures& f) {
    const bool completed = f.transfers > 0;
    return {{"device", unique_name(device)},
            {"module", device.module},
            {"instance", device.instance},
            {"class", class_of(device.kind)},
            {"members", device.members},
            {"crtime_ns", device.crtime / device.members},
            {"snaptime_ns", device.snaptime / device.members},
            {"elapsed_s", f.elapsed_s},
            {"counters", counters(device.io)},
            {"reads_per_s", f.reads},
            {"writes_per_s", f.writes},
            {"read_bytes_per_s", f.data_read * bytes_per_kilobyte},
            {"written_bytes_per_s", f.data_written * bytes_per_kilobyte},
            {"wait", f.wait},
            {"actv", f.actv},
            {"wsvc_t_ms", or_null(completed, f.wsvc_t)},
            {"asvc_t_ms", or_null(completed, f.asvc_t)},
            {"svc_t_ms", or_null(completed, f.svc_t)},
            {"w_pct", f.w_percent},
            {"b_pct", f.b_percent},
            {"errors", errors(device, f)}};
}

Json processors_object(const Processors& processors, const ProcessorFigures& f) {
    if (processors.empty()) return {};
    const Processor sum = sum_of(processors);
    const Json raw{{"user_ticks", sum.user_ticks},
                   {"kernel_ticks", sum.kernel_ticks},
                   {"wait_ticks", sum.wait_ticks},
                   {"idle_ticks", sum.idle_ticks},
                   {"dtrace_ns", sum.dtrace_ns}};
    return {{"processors", processors.size()}, {"counters", raw},        {"user_pct", f.user},
            {"system_pct", f.system},          {"dtrace_pct", f.dtrace}, {"idle_pct", f.idle}};
}

Json terminals_object(const Processors& processors, const ProcessorFigures& f) {
    if (processors.empty()) return {};
    const Processor sum = sum_of(processors);
    return {{"counters",
             {{"characters_in", sum.characters_in}, {"characters_out", sum.characters_out}}},
            {"characters_in_per_s", f.characters_in},
            {"characters_out_per_s", f.characters_out}};
}

// The time of the latest reading of any device.
std::optional<hrtime_t> snaptime(const Snapshot& devices) {
    std::optional<hrtime_t> latest;
    for (const Device& device : devices) {
        latest = std::max(latest, std::optional(device.snaptime / device.members));
    }
    return latest;
}

// The seconds between the latest readings then and now; null in a report since the creation.
Json interval_s(const Interval& interval) {
    if (interval.devices_before == nullptr) return {};
    const auto before = snaptime(*interval.devices_before);
    const auto now = snaptime(interval.devices);
    if (!before || !now) return {};
    return static_cast<double>(*now - *before) / 1e9;
}

Json statistic(const DeviceSummary& device, double Spread::*member) {
    Json object = Json::object();
    for (size_t i = 0; i < summary_columns.size(); ++i) {
        object.add(std::string(summary_columns[i].json_key),
                   or_null(device.columns[i].any, device.columns[i].*member));
    }
    return object;
}

// Without -I, -M and -e.
Options plain_options(const Options& options) {
    Options plain;
    plain.interval_s = options.interval_s;
    return plain;
}

}  // namespace

Json json_device(const Interval& interval, const Device& device, const Options& options) {
    Json object = device_object(device, interval.figures_of(device, plain_options(options)));
    if (options.histograms_wanted()) add_histograms(object, interval.histograms_of(device));
    return object;
}

std::string json_report(const Interval& interval, const std::vector<std::string>& changes,
                        std::time_t now, const Options& options) {
    const Options plain = plain_options(options);
    Json devices = Json::array();
    for (const Device& device : interval.devices) {
        const bool hides =
            options.idle_hidden && is_idle(interval.figures_of(device, plain), options);
        if (!hides) devices.push_back(json_device(interval, device, options));
    }
    const ProcessorFigures processors = interval.figures_of_processors(plain);
    const Json report{{"schema", "blockdev.iostat/1"},
                      {"ts", now},
                      {"snaptime_ns", snaptime(interval.devices)},
                      {"interval_s", interval_s(interval)},
                      {"since_creation", interval.devices_before == nullptr},
                      {"changes", changes},
                      {"tty", terminals_object(interval.processors, processors)},
                      {"cpu", processors_object(interval.processors, processors)},
                      {"devices", devices}};
    return report.line() + "\n";
}

std::string json_devices(const Snapshot* before, const Snapshot& devices, std::time_t now,
                         bool histograms) {
    const Processors none;
    Options options;
    options.json = true;
    options.waits = histograms;
    return json_report({before, devices, nullptr, none}, {}, now, options);
}

std::string json_summary(const Summary& summary, std::time_t now) {
    Json devices = Json::array();
    for (const DeviceSummary& device : summary.devices()) {
        devices.push_back({{"device", device.name},
                           {"elapsed_s", device.elapsed_s},
                           {"average", statistic(device, &Spread::average)},
                           {"minimum", statistic(device, &Spread::least)},
                           {"maximum", statistic(device, &Spread::most)}});
    }
    const Json report{{"schema", "blockdev.iostat-summary/1"},
                      {"ts", now},
                      {"intervals", summary.intervals()},
                      {"devices", devices}};
    return report.line() + "\n";
}

}  // namespace blkscope::iostat
