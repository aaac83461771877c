#include "tools/top/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/program/json.hpp"
#include "tools/top/maps.hpp"
#include "tools/top/settings.hpp"
#include "tools/top/table.hpp"
#include "tools/top/text.hpp"

namespace blkscope::top {
namespace {

constexpr int settings_share = 6;  // the settings get at most this part of the screen

constexpr std::array<std::string_view, 24> help_lines{
    "blkscope top",
    "",
    "  1-9        the device of that line       j k arrows  the next, the one before",
    "  space      freeze, and go on             s           sort by another column",
    "  + -        longer, shorter intervals     h ?         this page",
    "  c          the clients of the device     q           quit",
    "",
    "Table, as iostat -xnu: wait actv are mean numbers of requests in the wait queue",
    "and in service, wsvc_t asvc_t the mean milliseconds that one spends there.",
    "Heatmaps: time to the right, slow at the top; the darker, the more requests, on",
    "a logarithmic scale; the line is the p99 of each interval.",
    "",
    "Not to be misread:",
    "  %b is not capacity: one slow request makes it 100, and a device that serves",
    "    many at once may do ten times more at the same %b.",
    "  asvc_t is a response time and grows with the depth of the queue.",
    "  wsvc_t + asvc_t is what iostat of Linux calls await. Means hide what is in the",
    "    cache and what is not: look at the heatmap.",
    "  %w near 100 with a tiny wsvc_t only means that the queue is rarely empty.",
    "  The first screen is of the time since each device's creation.",
    "  Percentiles of intervals cannot be averaged, and a load that stops sending",
    "    while it is stalled shows less of its tail than there is.",
    "",
    "Any key goes back.",
};

void draw_help(Screen& screen) {
    int y = 0;
    for (const std::string_view line : help_lines) {
        screen.put(0, y, line, y == 0 ? Role::heading : Role::plain);
        ++y;
    }
}

// The known facts about a device, the most important first.
std::vector<std::string> identity(const Tracked& tracked) {
    const DeviceLook& look = tracked.last;
    std::vector<std::string> parts{tracked.name()};
    if (look.size_bytes) parts.push_back(size_text(*look.size_bytes));
    if (look.clients) {
        parts.push_back(fmt::format("{} client{}", *look.clients, *look.clients == 1 ? "" : "s"));
    }
    parts.push_back("up " + uptime_text(look.device.snaptime - look.device.crtime));
    if (const auto& source = look.settings.source) {
        parts.push_back(program::shown(source->backing));
        if (source->export_name != source->backing) {
            parts.push_back("export " + program::shown(source->export_name));
        }
    }
    if (look.block_bytes) parts.push_back("block " + size_text(*look.block_bytes));
    if (look.queue_depth) parts.push_back(fmt::format("depth {}", *look.queue_depth));
    return parts;
}

std::string pace(const Tracked* selected, const View& view) {
    if (view.frozen) return "FROZEN";
    const bool since_creation = selected != nullptr && selected->since_creation;
    return since_creation ? "since creation" : "every " + span_text(view.interval_ns);
}

// Omits parts from the end until the pace fits beside the rest.
void draw_header(Screen& screen, const Tracked* selected, const View& view) {
    const std::string right = pace(selected, view);
    const int columns = screen.size().columns;
    const int right_x = columns - static_cast<int>(right.size());
    int x = 0;
    if (selected == nullptr) {
        x = screen.put(0, 0, "blkscope top", Role::heading);
    } else {
        for (const std::string& part : identity(*selected)) {
            const int gap = x == 0 ? 0 : 2;
            const bool fits = x + gap + static_cast<int>(part.size()) < right_x;
            if (x > 0 && !fits) break;
            x = screen.put(x + gap, 0, part, Role::heading);
        }
    }
    if (x < right_x) screen.put(right_x, 0, right, view.frozen ? Role::warning : Role::dim);
}

void draw_footer(Screen& screen, int y, const Model& model, const View& view, int hidden) {
    const std::string sort = fmt::format("s sort: {}", sort_key_text(view.sort));
    if (!model.message().empty()) {
        const int end = screen.put(0, y, model.message(), Role::warning);
        const int sort_x = screen.size().columns - static_cast<int>(sort.size());
        if (end < sort_x) screen.put(sort_x, y, sort, Role::dim);
        return;
    }
    const std::string more = hidden > 0 ? fmt::format("{} more  ", hidden) : "";
    screen.put(0, y,
               fmt::format("{}q quit  h help  space {}  1-9 j k device  + - interval  {}", more,
                           view.frozen ? "go on" : "freeze", sort),
               Role::dim);
}

// The number of the table's rows, headings included. The table gets what it needs, up to a third of
// the screen. The heatmaps get the rest.
int table_rows(int rows, size_t devices) {
    const int most = std::max(2, rows / 3);
    return static_cast<int>(std::min<size_t>(devices + 1, static_cast<size_t>(most)));
}

// The lines of the table that shows the clients of a device, and the device before them.
std::vector<const Tracked*> with_clients(const Model& model, const Tracked& device, SortKey sort) {
    std::vector<const Tracked*> lines = sorted_clients(model, device, sort);
    lines.insert(lines.begin(), &device);
    return lines;
}

}  // namespace

size_t selected_position(const std::vector<const Tracked*>& devices, const View& view) {
    if (!view.selected) return 0;
    const auto device_of = [](const Tracked* tracked) -> const iostat::Device& {
        return tracked->last.device;
    };
    const auto found = iostat::find_earlier(devices, device_of, *view.selected, {});
    return found == devices.end() ? 0 : static_cast<size_t>(found - devices.begin());
}

Screen render(const Model& model, const View& view, Size size, Style style) {
    Screen screen(size);
    if (view.help) {
        draw_help(screen);
        return screen;
    }
    const auto devices = sorted_devices(model, view.sort);
    const size_t selected = selected_position(devices, view);
    draw_header(screen, devices.empty() ? nullptr : devices[selected], view);
    const int footer = size.rows - 1;
    if (devices.empty()) {
        screen.put(0, 2, view.nothing_there);
        draw_footer(screen, footer, model, view, 0);
        return screen;
    }
    const auto lines = view.clients ? with_clients(model, *devices[selected], view.sort) : devices;
    const int rows = std::min(table_rows(size.rows, lines.size()), footer - 1);
    draw_table(screen, {.top = 1, .rows = rows}, lines, view.clients ? 0 : selected, style);
    int below = 1 + std::max(rows, 0);
    below +=
        draw_settings(screen, below, size.rows / settings_share, devices[selected]->last.settings);
    draw_maps(screen, below, footer - below, *devices[selected], style);
    const int hidden = static_cast<int>(lines.size()) - (rows - 1);
    if (footer > 0) draw_footer(screen, footer, model, view, hidden);
    return screen;
}

}  // namespace blkscope::top
