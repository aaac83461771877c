#include "tools/iostat/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "tools/iostat/changes.hpp"
#include "tools/iostat/distribution.hpp"
#include "tools/iostat/format.hpp"
#include "tools/iostat/json.hpp"

namespace blkscope::iostat {
namespace {

constexpr unsigned lines_per_header = 19;

std::vector<std::string> changes_between(const Interval& interval) {
    std::vector<std::string> changes =
        processor_changes(*interval.processors_before, interval.processors);
    const auto devices = device_changes(*interval.devices_before, interval.devices);
    changes.insert(changes.end(), devices.begin(), devices.end());
    return changes;
}

std::string shown_name(const Device& device, const Options& options) {
    if (!options.names_last || device.mount_point.empty()) return unique_name(device);
    return fmt::format("{} ({})", device.name, device.mount_point);
}

Options without_percentiles(Options options) {
    options.percentiles = false;
    return options;
}

// They have a table of their own, because a line has no room for them.
Options percentiles_alone(Options options) {
    options.mode = Mode::percentiles;
    options.errors = options.tty = options.cpu = false;
    return options;
}

}  // namespace

const Device* Interval::before(const Device& device) const {
    if (devices_before == nullptr) return nullptr;
    const auto found = find_earlier(*devices_before, std::identity{}, device, devices);
    return found == devices_before->end() ? nullptr : &*found;
}

Figures Interval::figures_of(const Device& device, const Options& options) const {
    return figures(before(device), device, options);
}

Histograms Interval::histograms_of(const Device& device) const {
    const Device* const earlier = before(device);
    return earlier == nullptr ? device.histograms
                              : difference(earlier->histograms, device.histograms);
}

std::string Reporter::report(const Snapshot& devices, const Processors& processors,
                             std::time_t now) {
    const auto last = std::exchange(last_, Look{devices, processors});
    Interval interval{nullptr, devices, nullptr, processors};
    std::vector<std::string> changes;
    if (last) {
        interval.devices_before = &last->devices;
        interval.processors_before = &last->processors;
        const bool changed =
            !same_devices(last->devices, devices) || !same_processors(last->processors, processors);
        if (changed && !options_.changes_silent) changes = changes_between(interval);
        if (changed && !options_.first_skipped) {
            interval.devices_before = nullptr;
            interval.processors_before = nullptr;
        }
    } else if (options_.first_skipped) {
        return {};
    }
    if (options_.json) return json_report(interval, changes, now, options_);
    return change_lines(changes) + text(interval);
}

std::string Reporter::text(const Interval& interval) {
    return options_.vertical() ? vertical(interval) : horizontal(interval);
}

std::string Reporter::vertical(const Interval& interval) {
    std::string text;
    if (sides_apart(options_) && (options_.tty || options_.cpu)) {
        text = horizontal_header({}, options_) +
               horizontal_line({}, options_, interval.figures_of_processors(options_));
    }
    text += vertical_lines(interval);
    text += tables(interval);
    if (options_.listing) text += listings(interval.devices);
    return text;
}

std::string Reporter::tables(const Interval& interval) const {
    std::string waits = options_.waits ? wait_table_header(options_) : "";
    std::string latencies = options_.latencies ? latency_table_header(options_) : "";
    for (const Device& device : interval.devices) {
        const Histograms histograms = interval.histograms_of(device);
        if (options_.idle_hidden && is_idle(histograms)) continue;
        if (options_.waits) waits += wait_table(device, histograms, options_);
        if (options_.latencies) latencies += latency_table(device, histograms, options_);
    }
    return waits + latencies;
}

std::string Reporter::vertical_lines(const Interval& interval) {
    name_width_ = std::max(name_width_, name_width_min);
    for (const Device& device : interval.devices) {
        name_width_ = std::max(name_width_, unique_name(device).size());
    }
    name_width_ = std::min(name_width_, name_width_max);
    if (!options_.percentiles || options_.comma_separated) return lines_of(interval, options_);
    return lines_of(interval, without_percentiles(options_)) +
           lines_of(interval, percentiles_alone(options_));
}

std::string Reporter::lines_of(const Interval& interval, const Options& layout) const {
    std::string text = vertical_header(name_width_, layout);
    if (text.empty()) return {};
    const bool hiding = options_.idle_hidden && options_.mode == Mode::extended;
    const bool with_processors = !sides_apart(layout) && (layout.tty || layout.cpu);
    const ProcessorFigures processors = interval.figures_of_processors(options_);
    const ProcessorFigures* beside = with_processors ? &processors : nullptr;
    for (const Device& device : interval.devices) {
        const Figures f = interval.figures_of(device, options_);
        if (!hiding || !is_idle(f, options_)) {
            text += vertical_line(shown_name(device, options_), f, name_width_, layout, beside);
        } else if (beside != nullptr) {
            text += vertical_line_without_device(name_width_, layout, processors);
        }
        beside = nullptr;  // the processors are on the first line
    }
    if (beside != nullptr) text += vertical_line_without_device(name_width_, layout, processors);
    return text;
}

std::string Reporter::listings(const Snapshot& devices) const {
    std::string text;
    for (const Device& device : devices) {
        if (device.errors.empty() || device.members > 1) continue;
        text += error_listing(device.errors,
                              {.name = device.name,
                               .names_last = options_.names_last,
                               .comma_separated = options_.comma_separated,
                               .device_id = options_.device_ids ? &device.device_id : nullptr});
    }
    return text;
}

// Without tty and cpu, the header is printed only when there is a device to name.
bool Reporter::has_header(const Snapshot& devices) const {
    return options_.tty || options_.cpu || !devices.empty();
}

std::string Reporter::horizontal(const Interval& interval) {
    const Snapshot shown = options_.devices_wanted() ? interval.devices : Snapshot{};
    if (!has_header(shown)) return {};
    std::string text;
    if (lines_until_header_ == 0) {
        text = horizontal_header(shown, options_);
        lines_until_header_ = lines_per_header;
    }
    if (!options_.comma_separated) --lines_until_header_;  // a file needs only one header
    std::vector<Figures> blocks;
    for (const Device& device : shown) blocks.push_back(interval.figures_of(device, options_));
    return text + horizontal_line(blocks, options_, interval.figures_of_processors(options_));
}

std::string Reporter::header_again() {
    if (options_.vertical() || options_.comma_separated || !last_) return {};
    if (!has_header(last_->devices)) return {};
    lines_until_header_ = lines_per_header;
    return horizontal_header(last_->devices, options_);
}

}  // namespace blkscope::iostat
