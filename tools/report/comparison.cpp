#include "tools/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text_encoding.hpp"
#include "tools/program/foreign_json.hpp"
#include "tools/program/json.hpp"
#include "tools/report/document.hpp"
#include "trace/foreign.hpp"
#include "trace/readers.hpp"

namespace blkscope::report {
namespace {

using nlohmann::json;

constexpr const char* only_before = "only in before";
constexpr const char* only_after = "only in after";
constexpr const char* nothing = "nothing to compare";
constexpr std::string_view data_begin = "id=\"data\">";
constexpr std::string_view data_end = "</script>";

struct Figure {
    const char* name;
    Sum (*of)(const json& sample, const char* key);
    const char* key;
    double distance_min;
    Worse worse;
};

struct Percentile {
    const char* name;
    kstat2::PerMillion share;
};

constexpr double ns_per_ms = 1e6;

// A wait of no request is the time between two readings of the clock, which differs from run to run.
constexpr double wait_distance_min = 0.02;    // ms
constexpr double time_distance_min = 0.01;    // ms
constexpr double length_distance_min = 0.02;  // requests
constexpr double rate_distance_min = 1;       // requests in a second
constexpr double byte_distance_min = 1024;    // in a second

Sum rate(const json& sample, const char* key) {
    const double elapsed_s = sample.at("elapsed").get<double>();
    return {sample.at(key).get<double>() * elapsed_s, elapsed_s};
}

// Milliseconds of a phase, for each request.
Sum mean(const json& sample, const char* key) {
    const json& times = sample.at("times");
    if (!times.contains(key)) return {};
    return {times.at(key).at(0).get<double>() / ns_per_ms, times.at(key).at(1).get<double>()};
}

constexpr std::array figures{
    Figure{"reads/s", rate, "reads", rate_distance_min, Worse::less},
    Figure{"writes/s", rate, "writes", rate_distance_min, Worse::less},
    Figure{"bytes read/s", rate, "readBytes", byte_distance_min, Worse::less},
    Figure{"bytes written/s", rate, "writtenBytes", byte_distance_min, Worse::less},
    Figure{"read wait, ms", mean, "read_wait", wait_distance_min, Worse::neither},
    Figure{"read service, ms", mean, "read_service", time_distance_min, Worse::neither},
    Figure{"write wait, ms", mean, "write_wait", wait_distance_min, Worse::neither},
    Figure{"write service, ms", mean, "write_service", time_distance_min, Worse::neither},
    Figure{"waiting", rate, "wait", length_distance_min, Worse::neither},
    Figure{"in service", rate, "actv", length_distance_min, Worse::neither},
    Figure{"read total, ms", mean, "read_total", time_distance_min, Worse::more},
    Figure{"write total, ms", mean, "write_total", time_distance_min, Worse::more},
    Figure{"flush total, ms", mean, "flush_total", time_distance_min, Worse::more},
    Figure{"trim total, ms", mean, "trim_total", time_distance_min, Worse::more},
    Figure{"zeroes total, ms", mean, "write_zeroes_total", time_distance_min, Worse::more}};

constexpr std::array percentiles{Percentile{"p50", kstat2::p50}, Percentile{"p99", kstat2::p99},
                                 Percentile{"p99.9", kstat2::p999}};

// The samples from the first request to the last; all of an idle run. The first and the last of them
// may have begun before the load, or ended behind it.
json loaded(const json& samples) {
    const auto is_idle = [](const json& one) {
        return one.at("reads").get<double>() + one.at("writes").get<double>() == 0;
    };
    const auto begin = std::find_if_not(samples.begin(), samples.end(), is_idle);
    auto end = samples.end();
    while (end != begin && is_idle(*(end - 1))) --end;
    if (begin == end) return samples;  // the rates of an idle run are zero
    if (end - begin <= 4) return json::array_t(begin, end);
    return json::array_t(begin + 1, end - 1);
}

// The data of a report: of a page the content of its script.
std::string data_in(const std::string& file) {
    const size_t begin = file.find(data_begin);
    if (begin == std::string::npos) return std::string(without_mark(file));
    const size_t from = begin + data_begin.size();
    return file.substr(from, file.find(data_end, from) - from);
}

// What a file is that has no report inside, for the message.
std::string other_kind(const std::string& content) {
    if (content.empty()) return "it is empty";
    const auto bytes = std::as_bytes(std::span(content));
    if (trace::is_trace(bytes)) {
        return "it is a trace, which 'blkscope explain' and 'blkscope predict' read";
    }
    const std::string kind = trace::foreign_kind(content);
    return kind.empty() ? "" : "it is " + kind;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw std::invalid_argument(fmt::format("report: {}: {}", path, why));
}

json parse(const SavedReport& saved) {
    json report = program::parse_foreign(data_in(saved.content));
    if (report.is_object() && report.value("schema", json()) == "blkscope.report/1") return report;
    if (report.is_discarded() && saved.content.find("blkscope.report/1") != std::string::npos) {
        refuse(saved.path, "its report is cut off or damaged");
    }
    const std::string kind = other_kind(saved.content);
    refuse(saved.path, "no report of blkscope is inside" + (kind.empty() ? "" : "; " + kind));
}

// A client's name does not say that it is the same client.
bool is_client(const std::string& device) {
    return device.find(",client-") != std::string::npos;
}

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr Estimate no_value{no_number, no_number, no_number};

double distance(const Compared& one) {
    return std::abs(one.before.value - one.after.value);
}

bool is_no_noise(const Compared& one) {
    const bool are_apart = one.before.high < one.after.low || one.after.high < one.before.low;
    return are_apart && distance(one) > one.distance_min;
}

// ---- The figures of a run ----

// A figure of any device.
struct Kind {
    std::string name;
    double distance_min;
    Worse worse;
    std::function<std::optional<Estimate>(const json& samples)> of;
};

std::optional<Estimate> in_ms(std::optional<Estimate> ns) {
    if (!ns) return {};
    return Estimate{ns->value / ns_per_ms, ns->low / ns_per_ms, ns->high / ns_per_ms};
}

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all = [] {
        std::vector<Kind> made;
        made.reserve(figures.size());
        for (const Figure& one : figures) {
            made.push_back({one.name, one.distance_min, one.worse, [&one](const json& samples) {
                                return mean_of(samples, one.of, one.key);
                            }});
        }
        for (const std::string operation : {"read", "write", "flush", "trim", "write_zeroes"}) {
            const std::string shown = operation == "write_zeroes" ? "zeroes" : operation;
            for (const Percentile& one : percentiles) {
                made.push_back({fmt::format("{} {}, ms", shown, one.name), time_distance_min,
                                Worse::more, [operation, &one](const json& samples) {
                                    return in_ms(percentile_of(samples, operation, one.share));
                                }});
            }
        }
        return made;
    }();
    return all;
}

// By the device's name, in the order of kinds().
using RunFigures = std::map<std::string, std::vector<std::optional<Estimate>>>;

struct RunData {
    json report;
    std::vector<std::string> devices;  // in the order of the report
    RunFigures figures;
    std::vector<std::string> late;
};

RunData run_data(const SavedReport& saved) try {
    RunData run{.report = parse(saved), .devices = {}, .figures = {}, .late = {}};
    for (const json& device : run.report.at("devices")) {
        const std::string name = device.at("device").get<std::string>();
        if (is_client(name)) continue;
        const json samples = loaded(device.at("samples"));
        auto& found = run.figures[name];
        if (!found.empty()) refuse(saved.path, "its report has a device twice");
        run.devices.push_back(name);
        for (const Kind& kind : kinds()) found.push_back(kind.of(samples));
    }
    if (!run.report.contains("late")) return run;
    for (const json& line : run.report.at("late")) {
        run.late.push_back(program::shown(line.get<std::string>()));
    }
    return run;
} catch (const json::exception&) {
    refuse(saved.path, "its report is not whole");
}

std::vector<RunData> runs_of(const std::vector<SavedReport>& side) {
    std::vector<RunData> runs;
    runs.reserve(side.size());
    for (const SavedReport& saved : side) runs.push_back(run_data(saved));
    return runs;
}

// ---- Both sides ----

Compared without_values(const std::string& device, const char* figure, bool differs) {
    return {.device = device,
            .figure = figure,
            .before = no_value,
            .after = no_value,
            .differs = differs};
}

// Of the runs that have the figure.
std::vector<Estimate> values_of(const std::vector<RunData>& runs, const std::string& device,
                                size_t kind) {
    std::vector<Estimate> values;
    for (const RunData& run : runs) {
        const auto found = run.figures.find(device);
        if (found != run.figures.end() && found->second[kind]) {
            values.push_back(*found->second[kind]);
        }
    }
    return values;
}

bool has_device(const std::vector<RunData>& runs, const std::string& device) {
    return std::ranges::any_of(runs,
                               [&](const RunData& run) { return run.figures.contains(device); });
}

// Each name once, in the order of the first run that has it.
std::vector<std::string> devices_of(const std::vector<RunData>& runs) {
    std::vector<std::string> names;
    for (const RunData& run : runs) {
        for (const std::string& name : run.devices) {
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        }
    }
    return names;
}

void add_rows(std::vector<Compared>& all, const std::string& device,
              const std::vector<RunData>& before, const std::vector<RunData>& after) {
    const size_t rows_before = all.size();
    for (size_t i = 0; i < kinds().size(); ++i) {
        const std::vector<Estimate> first = values_of(before, device, i);
        const std::vector<Estimate> second = values_of(after, device, i);
        if (first.empty() || second.empty()) continue;
        const Spread spread = spread_of(first, second);
        Compared row{.device = device,
                     .figure = kinds()[i].name,
                     .before = of_runs(first, spread),
                     .after = of_runs(second, spread),
                     .distance_min = kinds()[i].distance_min,
                     .worse = kinds()[i].worse};
        if (row.before.value == 0 && row.after.value == 0) continue;
        const double larger = std::max(row.before.value, row.after.value);
        row.differs = is_no_noise(row) && distance(row) > share_min * larger;
        all.push_back(std::move(row));
    }
    if (all.size() == rows_before) all.push_back(without_values(device, nothing, false));
}

void add_late(const std::vector<RunData>& runs, const std::string& side,
              std::vector<std::string>& lines) {
    for (size_t i = 0; i < runs.size(); ++i) {
        const std::string run = runs.size() > 1 ? fmt::format("{} {}", side, i + 1) : side;
        for (const std::string& line : runs[i].late)
            lines.push_back(fmt::format("{}: {}", run, line));
    }
}

bool is_of_one_report(const Compared& one) {
    return one.figure == only_before || one.figure == only_after;
}

std::string value_text(double value) {
    if (!std::isfinite(value)) return "-";
    return value >= 1e5 ? fmt::format("{:.0f}", value) : fmt::format("{:.3f}", value);
}

// A base as small as the smallest difference is as good as zero: a share of it says nothing.
bool has_base(const Compared& one) {
    return one.before.value > one.distance_min;
}

constexpr double percent_max = 900;

std::string change_text(const Compared& one) {
    if (!std::isfinite(one.before.value) || !std::isfinite(one.after.value)) return "-";
    if (!has_base(one)) return distance(one) > one.distance_min ? "from ~0" : "~0";
    const double percent = 100 * (one.after.value - one.before.value) / one.before.value;
    if (percent <= percent_max) return fmt::format("{:+.1f} %", percent);
    return fmt::format("{:.3g} times", one.after.value / one.before.value);
}

// The part of the intervals that has to be exceeded to differ, as a share of the value before.
double noise_of(const Compared& one) {
    if (!has_base(one)) return no_number;
    const Estimate& before = one.before;
    const Estimate& after = one.after;
    const double width = after.value >= before.value
                             ? before.high - before.value + after.value - after.low
                             : before.value - before.low + after.high - after.value;
    return width / before.value;
}

std::string noise_text(const Compared& one) {
    const double percent = 100 * noise_of(one);
    if (std::isnan(percent)) return "-";
    return percent <= percent_max ? fmt::format("{:.1f} %", percent) : "unknown";
}

program::Json json_of(const Compared& one) {
    const auto interval = [](const Estimate& of) {
        program::Json pair = program::Json::array();
        pair.push_back(of.low);
        pair.push_back(of.high);
        return pair;
    };
    return {{"device", one.device},       {"figure", one.figure},
            {"before", one.before.value}, {"before_interval", interval(one.before)},
            {"after", one.after.value},   {"after_interval", interval(one.after)},
            {"change", change_text(one)}, {"noise", noise_text(one)},
            {"differs", one.differs}};
}

bool is_slower(const Compared& one, double share) {
    if (one.worse == Worse::neither || !is_no_noise(one)) return false;
    const double grown = one.after.value - one.before.value;
    const double by = one.worse == Worse::more ? grown : -grown;
    return by > share * one.before.value;
}

// How many of the figures that the gate is about may have changed by more than the share, unseen.
std::string hidden_text(const std::vector<Compared>& all, double share) {
    size_t judged = 0;
    size_t hidden = 0;
    for (const Compared& one : all) {
        const double noise = noise_of(one);
        if (one.worse == Worse::neither || std::isnan(noise)) continue;
        ++judged;
        if (noise > share) ++hidden;
    }
    if (hidden == 0) return "";
    return fmt::format(", but noise could hide it in {} of {} figures: run for longer", hidden,
                       judged);
}

}  // namespace

Comparison compare(const std::vector<SavedReport>& before, const std::vector<SavedReport>& after) {
    const std::vector<RunData> first = runs_of(before);
    const std::vector<RunData> second = runs_of(after);
    Comparison all{.rows = {},
                   .late = {},
                   .before = first.front().report.dump(),
                   .after = second.front().report.dump(),
                   .before_runs = first.size(),
                   .after_runs = second.size()};
    for (const std::string& device : devices_of(first)) {
        if (has_device(second, device)) add_rows(all.rows, device, first, second);
    }
    for (const std::string& device : devices_of(first)) {
        if (has_device(second, device)) continue;
        all.rows.push_back(without_values(device, only_before, true));
    }
    for (const std::string& device : devices_of(second)) {
        if (has_device(first, device)) continue;
        all.rows.push_back(without_values(device, only_after, true));
    }
    add_late(first, "before", all.late);
    add_late(second, "after", all.late);
    return all;
}

std::optional<double> slower_share(const std::string& text) {
    double percent = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
    if (error != std::errc{} || !(percent >= 0 && percent <= 1e6)) return {};
    const std::string_view unit(at, static_cast<size_t>(end - at));
    return unit == "%" || unit == " %" ? std::optional(percent / 100) : std::nullopt;
}

Gate gate(const std::vector<Compared>& all, double share) {
    std::vector<std::string> why;
    bool any = false;
    for (const Compared& one : all) {
        const std::string name = program::shown(one.device) + " " + one.figure;
        any = any || (one.worse != Worse::neither && std::isfinite(one.before.value));
        if (one.figure == only_before || one.figure == nothing) why.push_back(name);
        if (is_slower(one, share)) {
            why.push_back(fmt::format("{} {} (noise {})", name, change_text(one), noise_text(one)));
        }
    }
    if (!any && why.empty()) why.emplace_back(nothing);
    if (why.empty()) {
        return {false, fmt::format("PASSED: nothing is slower by more than {:g} %{}", 100 * share,
                                   hidden_text(all, share))};
    }
    return {true, fmt::format("FAILED: not within {:g} % of the run before: {}", 100 * share,
                              fmt::join(why, "; "))};
}

std::string comparison_text(const std::vector<Compared>& all) {
    std::string text = fmt::format("{:<16} {:<18} {:>10} {:>10} {:>9} {:>9}\n", "device", "figure",
                                   "before", "after", "change", "noise");
    for (const Compared& one : all) {
        text +=
            fmt::format("{:<16} {:<18} {:>10} {:>10} {:>9} {:>9}{}\n", program::shown(one.device),
                        one.figure, value_text(one.before.value), value_text(one.after.value),
                        change_text(one), noise_text(one), one.differs ? "  *" : "");
    }
    if (std::ranges::all_of(all, is_of_one_report)) text += "no device is in both reports\n";
    return text;
}

std::string comparison_data(const Comparison& all, const std::optional<Gate>& gate) {
    using program::Json;
    Json rows = Json::array();
    for (const Compared& one : all.rows) rows.push_back(json_of(one));
    const Json failed = gate ? Json(gate->is_failed) : Json();
    const Json headline = gate ? Json(gate->headline) : Json();
    return fmt::format(
        R"({{"schema":"blkscope.comparison/1","failed":{},"headline":{},"late":{},"before_runs":{},)"
        R"("after_runs":{},"rows":{},"before":{},"after":{}}})"
        "\n",
        failed.line(), headline.line(), Json(all.late).line(), all.before_runs, all.after_runs,
        rows.line(), all.before, all.after);
}

std::string comparison_document(const std::string& data) {
    return html_file("compare.html", data);
}

}  // namespace blkscope::report
