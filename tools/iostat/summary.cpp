#include "tools/iostat/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/iostat/format.hpp"

namespace blkscope::iostat {
namespace {

constexpr double ms_per_s = 1000;

constexpr std::array statistics{
    std::pair<std::string_view, double Spread::*>{"average", &Spread::average},
    std::pair<std::string_view, double Spread::*>{"minimum", &Spread::least},
    std::pair<std::string_view, double Spread::*>{"maximum", &Spread::most},
};

std::string join(const std::vector<std::string>& cells, const Options& options) {
    return fmt::format("{}\n", fmt::join(cells, options.comma_separated ? "," : " "));
}

int width_of(const SummaryColumn& column, const Options& options) {
    return options.comma_separated ? 0 : column.width;
}

int precision_of(const SummaryColumn& column, const Options& options) {
    return options.microseconds && column.queue != nullptr ? 3 : column.precision;
}

std::string header(const Options& options) {
    std::vector<std::string> cells{options.comma_separated ? "statistic" : "       "};
    for (const SummaryColumn& column : summary_columns) {
        cells.push_back(fmt::format("{:>{}}", column.heading, width_of(column, options)));
    }
    cells.emplace_back("device");
    return join(cells, options);
}

std::string line(const DeviceSummary& device, std::string_view name, double Spread::*statistic,
                 const Options& options) {
    std::vector<std::string> cells{std::string(name)};
    for (size_t i = 0; i < summary_columns.size(); ++i) {
        const SummaryColumn& column = summary_columns[i];
        const int width = width_of(column, options);
        const Spread& spread = device.columns[i];
        cells.push_back(
            spread.any
                ? fmt::format("{:{}.{}f}", spread.*statistic, width, precision_of(column, options))
                : fmt::format("{:>{}}", options.comma_separated ? "" : "-", width));
    }
    cells.push_back(options.comma_separated ? csv_field(device.name) : device.name);
    return join(cells, options);
}

}  // namespace

void Spread::add(double part, double by) {
    total += part;
    weight += by;
    average = weight > 0 ? total / weight : 0;
}

void Spread::add_value(double value) {
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
}

void DeviceSummary::add(const Figures& f) {
    elapsed_s += f.elapsed_s;
    for (size_t i = 0; i < summary_columns.size(); ++i) {
        const SummaryColumn& column = summary_columns[i];
        if (column.queue == nullptr) {
            columns[i].add(f.*column.value * f.elapsed_s, f.elapsed_s);
        } else {
            columns[i].add(f.*column.queue * f.elapsed_s * ms_per_s, f.transfers * f.elapsed_s);
        }
        if (column.queue == nullptr || f.transfers > 0) columns[i].add_value(f.*column.value);
    }
}

void Summary::add(const Snapshot& devices) {
    ++looks_;
    for (const Device& device : devices) {
        if (!began_) began_ = device.snaptime / device.members;
        const auto found = find_earlier(
            known_, [](const Known& known) -> const Device& { return known.last; }, device,
            devices);
        const bool seen_before = found != known_.end();
        Known& known =
            seen_before ? *found : known_.emplace_back(Known{device, {.name = device.name}});
        const bool created_meanwhile = device.crtime / device.members > *began_;
        if (seen_before || created_meanwhile) {
            known.summary.add(figures(seen_before ? &known.last : nullptr, device, {}));
        }
        known.last = device;
    }
}

std::vector<DeviceSummary> Summary::devices() const {
    std::vector<DeviceSummary> summaries;
    for (const Known& known : known_) {
        if (known.summary.elapsed_s > 0) summaries.push_back(known.summary);
    }
    return summaries;
}

std::string summary_text(const Summary& summary, const Options& options) {
    const std::vector<DeviceSummary> devices = summary.devices();
    double longest_s = 0;
    for (const DeviceSummary& device : devices) longest_s = std::max(longest_s, device.elapsed_s);
    std::string text =
        fmt::format("summary of the run: {} interval{}, {:.1f} s\n", summary.intervals(),
                    summary.intervals() == 1 ? "" : "s", longest_s);
    if (options.comma_separated) text = "summary of the run\n";
    text += header(options);
    for (const DeviceSummary& device : devices) {
        for (const auto& [name, statistic] : statistics) {
            text += line(device, name, statistic, options);
        }
    }
    return text;
}

}  // namespace blkscope::iostat
