#include "tools/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "tools/program/foreign_json.hpp"
#include "tools/program/json.hpp"
#include "tools/report/document.hpp"

namespace blkscope::report {
namespace {

using nlohmann::json;

constexpr size_t parts_max = 10;
constexpr const char* only_before = "only in before";
constexpr const char* only_after = "only in after";
constexpr const char* nothing = "nothing to compare";
constexpr std::string_view data_begin = "id=\"data\">";
constexpr std::string_view data_end = "</script>";

// A figure of a part is the sum of the one over the sum of the other, of its samples.
struct Sum {
    double value = 0;
    double weight = 0;
};

struct Figure {
    const char* name;
    Sum (*of)(const json& sample);
    double distance_min = 0;
};

// A wait of no request is the time between two readings of the clock, which differs from run to run.
constexpr double time_distance_min = 0.02;    // ms
constexpr double length_distance_min = 0.02;  // requests

Sum rate(const json& sample, const char* key) {
    const double elapsed_s = sample.at("elapsed").get<double>();
    return {sample.at(key).get<double>() * elapsed_s, elapsed_s};
}

// Milliseconds of a phase, for each request.
Sum mean(const json& sample, const char* key) {
    const json& times = sample.at("times");
    if (!times.contains(key)) return {};
    return {times.at(key).at(0).get<double>() / 1e6, times.at(key).at(1).get<double>()};
}

constexpr std::array figures{
    Figure{"reads/s", [](const json& one) { return rate(one, "reads"); }},
    Figure{"writes/s", [](const json& one) { return rate(one, "writes"); }},
    Figure{"bytes read/s", [](const json& one) { return rate(one, "readBytes"); }},
    Figure{"bytes written/s", [](const json& one) { return rate(one, "writtenBytes"); }},
    Figure{"read wait, ms", [](const json& one) { return mean(one, "read_wait"); },
           time_distance_min},
    Figure{"read service, ms", [](const json& one) { return mean(one, "read_service"); },
           time_distance_min},
    Figure{"write wait, ms", [](const json& one) { return mean(one, "write_wait"); },
           time_distance_min},
    Figure{"write service, ms", [](const json& one) { return mean(one, "write_service"); },
           time_distance_min},
    Figure{"waiting", [](const json& one) { return rate(one, "wait"); }, length_distance_min},
    Figure{"in service", [](const json& one) { return rate(one, "actv"); }, length_distance_min}};

struct Estimate {
    double mean = 0;
    double error = 0;  // the standard error of the mean
};

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

// None if less than two parts have a value.
std::optional<Estimate> estimate(const json& samples, const Figure& figure) {
    const size_t parts = std::min(parts_max, samples.size());
    std::vector<double> values;
    Sum all;
    for (size_t part = 0; part < parts; ++part) {
        Sum sum;
        for (size_t i = part * samples.size() / parts; i < (part + 1) * samples.size() / parts;
             ++i) {
            const Sum one = figure.of(samples.at(i));
            sum.value += one.value;
            sum.weight += one.weight;
        }
        if (sum.weight <= 0) continue;
        values.push_back(sum.value / sum.weight);
        all.value += sum.value;
        all.weight += sum.weight;
    }
    if (values.size() < 2) return {};
    const double mean = all.value / all.weight;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const auto count = static_cast<double>(values.size());
    return Estimate{mean, std::sqrt(squares / (count - 1) / count)};
}

json parse(const std::string& data) {
    json report = program::parse_foreign(data);
    if (!report.is_object() || report.value("schema", "") != "blkscope.report/1") {
        throw std::invalid_argument("report: the file has no report of blkscope");
    }
    return report;
}

// A client's name does not say that it is the same client.
bool is_client(const std::string& device) {
    return device.find(",client-") != std::string::npos;
}

Compared without_values(const json& device, const char* figure, bool differs) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return {.device = device.at("device").get<std::string>(),
            .figure = figure,
            .before = none,
            .after = none,
            .spread = none,
            .differs = differs};
}

void compare_devices(const json& before, const json& after, std::vector<Compared>& all) {
    const json first = loaded(before.at("samples"));
    const json second = loaded(after.at("samples"));
    const size_t rows_before = all.size();
    for (const Figure& figure : figures) {
        const auto one = estimate(first, figure);
        const auto other = estimate(second, figure);
        if (!one || !other || (one->mean == 0 && other->mean == 0)) continue;
        const double spread = std::hypot(one->error, other->error);
        const double distance = std::abs(one->mean - other->mean);
        const bool differs = distance > spreads_min * spread &&
                             distance > share_min * std::max(one->mean, other->mean) &&
                             distance > figure.distance_min;
        all.push_back({.device = before.at("device").get<std::string>(),
                       .figure = figure.name,
                       .before = one->mean,
                       .after = other->mean,
                       .spread = spread,
                       .differs = differs});
    }
    if (all.size() == rows_before) all.push_back(without_values(before, nothing, false));
}

// Adds a row for each device of `report` that `other` lacks.
void add_missing(const json& report, const json& other, const char* figure,
                 std::vector<Compared>& all) {
    for (const json& device : report.at("devices")) {
        if (is_client(device.at("device").get<std::string>())) continue;
        const auto is_same = [&](const json& one) {
            return one.at("device") == device.at("device");
        };
        if (std::ranges::any_of(other.at("devices"), is_same)) continue;
        all.push_back(without_values(device, figure, true));
    }
}

bool is_of_one_report(const Compared& one) {
    return one.figure == only_before || one.figure == only_after;
}

std::string value_text(double value) {
    return std::isnan(value) ? "-" : fmt::format("{:.3f}", value);
}

}  // namespace

std::string data_in(const std::string& file) {
    const size_t begin = file.find(data_begin);
    if (begin == std::string::npos) return file;
    const size_t from = begin + data_begin.size();
    return file.substr(from, file.find(data_end, from) - from);
}

std::vector<Compared> compare(const std::string& before, const std::string& after) try {
    const json one = parse(before);
    const json other = parse(after);
    std::vector<Compared> all;
    for (const json& device : one.at("devices")) {
        const std::string name = device.at("device").get<std::string>();
        if (is_client(name)) continue;
        for (const json& same : other.at("devices")) {
            if (same.at("device") == name) compare_devices(device, same, all);
        }
    }
    add_missing(one, other, only_before, all);
    add_missing(other, one, only_after, all);
    return all;
} catch (const json::exception&) {
    throw std::invalid_argument("report: the file has no whole report of blkscope");
}

std::string comparison_text(const std::vector<Compared>& all) {
    std::string text = fmt::format("{:<16} {:<18} {:>12} {:>12} {:>10}\n", "device", "figure",
                                   "before", "after", "spread");
    for (const Compared& one : all) {
        text += fmt::format("{:<16} {:<18} {:>12} {:>12} {:>10}{}\n", program::shown(one.device),
                            one.figure, value_text(one.before), value_text(one.after),
                            value_text(one.spread), one.differs ? "  *" : "");
    }
    if (std::ranges::all_of(all, is_of_one_report)) text += "no device is in both reports\n";
    return text;
}

std::string comparison_document(const std::string& before, const std::string& after,
                                const std::vector<Compared>& all) {
    using program::Json;
    Json rows = Json::array();
    for (const Compared& one : all) {
        rows.push_back({{"device", one.device},
                        {"figure", one.figure},
                        {"before", one.before},
                        {"after", one.after},
                        {"spread", one.spread},
                        {"differs", one.differs}});
    }
    const auto line = [](const std::string& data) { return parse(data).dump(); };
    return html_file("compare.html",
                     "{\"schema\":\"blkscope.comparison/1\",\"before\":" + line(before) +
                         ",\"after\":" + line(after) + ",\"rows\":" + rows.line() + "}\n");
}

}  // namespace blkscope::report
