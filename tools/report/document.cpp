#include "tools/report/document.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/run_directory.hpp"
#include "tools/iostat/interval.hpp"
#include "tools/iostat/json.hpp"
#include "tools/program/json.hpp"
#include "tools/web/overview.hpp"
#include "tools/web/page.hpp"

namespace blkscope::report {
namespace {

using iostat::Device;
using iostat::Histograms;
using iostat::Snapshot;
using program::Json;

constexpr double bytes_per_kilobyte = 1024;

// The buckets with requests: from, to, and their number. The last one of a histogram has no end.
Json buckets_of(const iostat::Histogram& histogram) {
    Json buckets = Json::array();
    for (uint32_t i = 0; i < histogram.counts.size(); ++i) {
        if (histogram.counts[i] == 0) continue;
        Json bucket = Json::array();
        bucket.push_back(histogram.shape.lower(i));
        const bool is_last = i + 1 == histogram.shape.count();
        bucket.push_back(is_last ? histogram.shape.lower(i) : histogram.shape.lower(i + 1));
        bucket.push_back(histogram.counts[i]);
        buckets.push_back(std::move(bucket));
    }
    return buckets;
}

Json buckets_of(const Histograms& interval, const char* phase) {
    const auto histogram = iostat::of_transfers(interval, phase);
    if (!histogram || histogram->unit != "ns") return Json::array();
    return buckets_of(*histogram);
}

// Of each histogram, the sum of the times and their number.
Json times_of(const Histograms& interval) {
    Json times = Json::object();
    for (const auto& [name, histogram] : interval) {
        const uint64_t count = histogram.count();
        if (histogram.unit != "ns" || !histogram.sum || count == 0) continue;
        Json pair = Json::array();
        pair.push_back(*histogram.sum);
        pair.push_back(count);
        times.add(name, std::move(pair));
    }
    return times;
}

// Soft, hard and transport errors of the interval in a second. Each count has 32 bits.
double errors_per_s(const iostat::Interval& interval, const Device& device, double elapsed_s) {
    const Device* const before = interval.before(device);
    uint64_t errors = 0;
    for (size_t i = 0; i < 3; ++i) {
        const uint32_t old = before != nullptr ? iostat::error_count(before->errors, i) : 0;
        errors += static_cast<uint32_t>(iostat::error_count(device.errors, i) - old);
    }
    return elapsed_s > 0 ? static_cast<double>(errors) / elapsed_s : 0;
}

// The total times of each operation's requests in buckets: what percentiles are compared by.
Json requests_of(const Histograms& interval) {
    constexpr std::string_view total = "_total";
    Json requests = Json::object();
    for (const auto& [name, histogram] : interval) {
        if (!name.ends_with(total) || histogram.unit != "ns" || histogram.count() == 0) continue;
        requests.add(name.substr(0, name.size() - total.size()), buckets_of(histogram));
    }
    return requests;
}

Json sample_of(const iostat::Interval& interval, const Device& device, hrtime_t began) {
    const iostat::Options plain;
    const iostat::Figures f = interval.figures_of(device, plain);
    const Histograms histograms = interval.histograms_of(device);
    const bool any = f.transfers > 0;
    return {{"time", static_cast<double>(device.snaptime - began) / ns_per_s},
            {"reads", f.reads},
            {"writes", f.writes},
            {"readBytes", f.data_read * bytes_per_kilobyte},
            {"writtenBytes", f.data_written * bytes_per_kilobyte},
            {"wait", f.wait},
            {"actv", f.actv},
            {"busy", f.b_percent},
            {"waiting", f.w_percent},
            {"wsvc", any ? Json(f.wsvc_t) : Json()},
            {"asvc", any ? Json(f.asvc_t) : Json()},
            {"errors", errors_per_s(interval, device, f.elapsed_s)},
            {"elapsed", f.elapsed_s},
            {"times", times_of(histograms)},
            {"requests", requests_of(histograms)},
            {"waits", buckets_of(histograms, "wait")},
            {"services", buckets_of(histograms, "service")}};
}

std::vector<std::string> names_of(const std::vector<Snapshot>& looks) {
    std::vector<std::string> names;
    for (const Snapshot& look : looks) {
        for (const Device& device : look) {
            if (std::ranges::find(names, device.name) == names.end()) names.push_back(device.name);
        }
    }
    return names;
}

// The samples of a device. In an interval in which the device was created or removed, there is none.
Json samples_of(const Recording& recording, const std::string& name) {
    const iostat::Processors none;
    Json samples = Json::array();
    for (size_t i = 1; i < recording.looks.size(); ++i) {
        const Snapshot& now = recording.looks[i];
        const auto device = std::ranges::find(now, name, &Device::name);
        if (device == now.end()) continue;
        const iostat::Interval interval{&recording.looks[i - 1], now, nullptr, none};
        if (interval.before(*device) == nullptr) continue;
        samples.push_back(sample_of(interval, *device, recording.first.time));
    }
    return samples;
}

Json devices_of(const Recording& recording) {
    Json devices = Json::array();
    for (const std::string& name : names_of(recording.looks)) {
        devices.push_back({{"device", name}, {"samples", samples_of(recording, name)}});
    }
    return devices;
}

// The report of `iostat -jw` from the first look to the last.
std::string total_of(const Recording& recording, std::time_t end) {
    const Snapshot before = web::devices_of(recording.first.devices, web::is_served);
    const Snapshot now = web::devices_of(recording.devices_at_end(), web::is_served);
    return iostat::json_devices(&before, now, end, true);
}

// The counters at the first look: what the run is counted from.
std::string first_of(const Recording& recording) {
    const Snapshot devices = web::devices_of(recording.first.devices, web::is_served);
    return iostat::json_devices(nullptr, devices, 0, false);
}

// Counters of a device that was made anew begin at zero.
void subtract(uint64_t& count, uint64_t before) {
    count -= std::min(count, before);
}

// Takes away what was counted before the run.
void count_from(const web::DeviceLook& before, web::DeviceLook& look) {
    for (auto& [record, count] : look.errnos) {
        const auto found = before.errnos.find(record);
        if (found != before.errnos.end()) subtract(count, found->second);
    }
    for (top::FaultSetting& fault : look.settings.faults) {
        const auto& rules = before.settings.faults;
        const auto found = std::ranges::find(rules, fault.id, &top::FaultSetting::id);
        if (found != rules.end()) subtract(fault.hits, found->hits);
    }
    if (look.settings.upstream && before.settings.upstream) {
        for (top::Upstream::Count& count : look.settings.upstream->counts) {
            const auto& counts = before.settings.upstream->counts;
            const auto found = std::ranges::find(counts, count.name, &top::Upstream::Count::name);
            const bool is_gauge = count.name == "connections";  // those of now
            if (!is_gauge && found != counts.end()) subtract(count.value, found->value);
        }
    }
    if (look.settings.model && before.settings.model) {
        subtract(look.settings.model->drawn, before.settings.model->drawn);
        subtract(look.settings.model->overruns, before.settings.model->overruns);
    }
    if (!look.settings.limit || !before.settings.limit) return;
    for (top::LimitBucket& bucket : look.settings.limit->buckets) {
        const auto& buckets = before.settings.limit->buckets;
        const auto found = std::ranges::find(buckets, bucket.name, &top::LimitBucket::name);
        if (found != buckets.end()) subtract(bucket.exceeded_ns, found->exceeded_ns);
    }
}

std::string overview_of(const Recording& recording) {
    web::Look look{.devices = recording.devices_at_end(), .providers = recording.last.providers};
    std::erase_if(look.devices, [](const web::DeviceLook& one) {
        return one.device.kind == iostat::Kind::client;
    });
    for (web::DeviceLook& one : look.devices) {
        for (const web::DeviceLook& before : recording.first.devices) {
            const bool is_same = before.device.name == one.device.name;
            if (is_same && before.device.crtime == one.device.crtime) count_from(before, one);
        }
    }
    for (const auto& [name, client] : recording.clients) look.devices.push_back(client);
    return web::overview_text(look, web::is_served, reader_directories());
}

// A line of JSON, without its end.
std::string chomp(std::string line) {
    while (line.ends_with('\n')) line.pop_back();
    return line;
}

}  // namespace

std::string json_document(const Run& run, const Recording& recording) {
    const Outcome outcome = outcome_of(run);
    Json conditions = Json::array();
    for (const check::Finding& one : run.findings) conditions.push_back(check::json_of(one));
    const std::time_t end = run.began + static_cast<std::time_t>(run.seconds);
    const Json head{{"schema", "blkscope.report/1"},
                    {"command", run.command},
                    {"began", run.began},
                    {"seconds", run.seconds},
                    {"status", run.status},
                    {"every_s", static_cast<double>(recording.every.count()) / 1000},
                    {"failed", outcome.is_failed},
                    {"headline", outcome.headline},
                    {"findings", outcome.lines},
                    {"conditions", std::move(conditions)},
                    {"late", run.late},
                    {"devices", devices_of(recording)}};
    std::string text = head.line();
    text.pop_back();  // the brace
    text += ",\"first\":" + chomp(first_of(recording));
    text += ",\"total\":" + chomp(total_of(recording, end));
    text += ",\"summary\":" + chomp(iostat::json_summary(recording.summary, end));
    text += ",\"overview\":" + chomp(overview_of(recording));
    return text + "}\n";
}

std::string html_document(const std::string& data) {
    return html_file("report.html", data);
}

// A name may have "</script>". Inside a string of JSON, \u003c is the same as "<".
std::string html_file(const char* page, const std::string& data) {
    std::string safe;
    for (const char c : data) {
        if (c == '<') {
            safe += "\\u003c";
        } else {
            safe += c;
        }
    }
    constexpr std::string_view mark = "<!--data-->";
    std::string text(web::page_file(page));
    return text.replace(text.find(mark), mark.size(), safe);
}

}  // namespace blkscope::report
