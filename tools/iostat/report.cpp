#include "iostat/report.hpp"

#include <algorithm>

#include "iostat/changes.hpp"
#include "iostat/format.hpp"

namespace blkscope::iostat {

namespace {

constexpr unsigned lines_per_header = 19;

}  // namespace

std::string Reporter::report(const Snapshot& now) {
    const bool changed = last_ && !same_devices(*last_, now);
    std::string text;
    if (changed && !options_.changes_silent) text = change_lines(*last_, now);
    const Snapshot* before = last_ && !changed ? &*last_ : nullptr;
    text += options_.vertical() ? vertical(before, now) : horizontal(before, now);
    last_ = now;
    return text;
}

std::string Reporter::vertical(const Snapshot* before, const Snapshot& now) {
    name_width_ = std::max(name_width_, name_width_min);
    for (const Device& device : now) name_width_ = std::max(name_width_, device.name.size());
    name_width_ = std::min(name_width_, name_width_max);

    std::string text = vertical_header(name_width_, options_);
    for (const Device& device : now) {
        const Figures f = figures_of(before, device);
        if (options_.idle_hidden && is_idle(f)) continue;
        text += vertical_line(device.name, f, name_width_, options_);
    }
    return text;
}

std::string Reporter::horizontal(const Snapshot* before, const Snapshot& now) {
    if (now.empty()) return {};  // the header waits for a device to name
    std::string text;
    if (lines_until_header_ == 0) {
        text = horizontal_header(now, options_);
        lines_until_header_ = lines_per_header;
    }
    if (!options_.comma_separated) --lines_until_header_;  // a file needs its header once
    std::vector<Figures> blocks;
    for (const Device& device : now) blocks.push_back(figures_of(before, device));
    return text + horizontal_line(blocks, options_);
}

std::string Reporter::header_again() {
    if (options_.vertical() || options_.comma_separated || !last_ || last_->empty()) return {};
    lines_until_header_ = lines_per_header;
    return horizontal_header(*last_, options_);
}

Figures Reporter::figures_of(const Snapshot* before, const Device& now) const {
    return figures(before != nullptr ? find(*before, now) : nullptr, now, options_);
}

}  // namespace blkscope::iostat
