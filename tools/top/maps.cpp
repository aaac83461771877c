#include "tools/top/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "tools/top/heatmap.hpp"
#include "tools/top/text.hpp"

namespace blkscope::top {
namespace {

using Phase = std::vector<uint64_t> Column::*;

constexpr int label_width = 7;  // a latency and the axis
constexpr int axis_label_gap = 20;
constexpr int rows_with_connection = 9;
constexpr int p99_rows_min = 3;  // in fewer the line would hide the map; the title has the p99

// From light to dark; each shade stands for two levels of heat.
constexpr std::array<char32_t, 4> shades_utf8{U'\u2591', U'\u2592', U'\u2593', U'\u2588'};
constexpr std::array<char32_t, 4> shades_ascii{U'.', U':', U'*', U'#'};

char32_t shade(int level, Style style) {
    const auto i = static_cast<size_t>((level - 1) / 2);
    return style.utf8 ? shades_utf8[i] : shades_ascii[i];
}

// The division of the rows: a title for each map, the same number of rows for both, and the axis.
struct Shares {
    bool titles;
    int map_rows;
    bool axis;
};

Shares share_out(int rows) {
    const int for_maps = rows - 2;
    if (for_maps < 2) return {.titles = rows >= 2, .map_rows = 0, .axis = false};
    if (for_maps == 2) return {.titles = true, .map_rows = 1, .axis = false};
    return {.titles = true, .map_rows = (for_maps - 1) / 2, .axis = true};
}

std::string percentiles_text(const History& history, int columns, Phase phase) {
    const auto found = percentiles(history, columns, phase);
    if (!found) return "-";
    return fmt::format("p99 {} p50 {}", latency_text(found->p99_ns), latency_text(found->p50_ns));
}

std::string title(std::string_view name, const History& history, int columns, Phase phase) {
    return fmt::format("{:<8} {}   all shown: {}", name, percentiles_text(history, 1, phase),
                       percentiles_text(history, columns, phase));
}

// Both titles in one line, if there is only one line.
std::string short_title(const History& history) {
    const auto p99 = [&](Phase phase) {
        const auto found = percentiles(history, 1, phase);
        return found ? latency_text(found->p99_ns) : std::string("-");
    };
    return fmt::format("p99 wait {} service {}", p99(&Column::wait), p99(&Column::service));
}

// Whether the stages on the connection have a line each. The lines need room beside the maps, and a
// request that has come from a connection.
bool shows_connection(const History& history, int rows, int columns) {
    return rows >= rows_with_connection &&
           (percentiles(history, columns, &Column::receive) ||
            percentiles(history, columns, &Column::reply));
}

void draw_label(Screen& screen, int y, const Heatmaps& maps, int row, Style style) {
    const auto floor_ns = static_cast<uint64_t>(std::llround(maps.row_floor_ns(row)));
    screen.put(0, y, fmt::format("{:>{}}", latency_text(floor_ns), label_width - 1), Role::dim);
    screen.put_glyph(label_width - 1, y, style.utf8 ? U'\u2502' : U'|', Role::dim);
}

void draw_map(Screen& screen, int top, const Heatmaps& maps, const Map& map, Style style) {
    for (int row = 0; row < maps.rows; ++row) {
        draw_label(screen, top + row, maps, row, style);
        for (int column = 0; column < maps.columns; ++column) {
            const int level = maps.level(maps.count(map, column, row));
            if (level == 0) continue;
            screen.put_glyph(label_width + column, top + row, shade(level, style),
                             heat_role(level));
        }
    }
    if (maps.rows < p99_rows_min) return;
    for (int column = 0; column < maps.columns; ++column) {
        const int row = map.p99_row[static_cast<size_t>(column)];
        if (row < 0) continue;
        screen.put_glyph(label_width + column, top + row, style.utf8 ? U'\u2500' : U'-', Role::p99);
    }
}

// The age of the columns above, at regular gaps; the newest column is at the right edge.
void draw_axis(Screen& screen, int y, const History& history, int columns) {
    const int right = label_width + columns;
    screen.put(right - 3, y, "now", Role::dim);
    hrtime_t age_ns = 0;
    int taken_from = right - 3;
    for (int ago = 0; ago < columns && static_cast<size_t>(ago) < history.size(); ++ago) {
        age_ns += history.ago(static_cast<size_t>(ago)).elapsed_ns;
        if ((ago + 1) % axis_label_gap != 0) continue;
        const std::string label = "-" + span_text(age_ns);
        const int x = right - 1 - ago;
        if (x + static_cast<int>(label.size()) >= taken_from) continue;
        screen.put(x, y, label, Role::dim);
        taken_from = x;
    }
}

}  // namespace

void draw_maps(Screen& screen, int top, int rows, const Tracked& device, Style style) {
    const History& history = device.history;
    const int columns = std::max(0, screen.size().columns - label_width);
    const bool connection = shows_connection(history, rows, columns);
    const Shares shares = share_out(connection ? rows - 2 : rows);
    if (rows <= 0) return;
    if (device.last.latencies.bounds == nullptr) {
        screen.put(0, top, device.name() + " publishes no latency histograms", Role::dim);
        return;
    }
    if (!shares.titles) {
        screen.put(0, top, short_title(history), Role::p99);
        return;
    }
    const Heatmaps maps = heatmaps(history, columns, shares.map_rows);
    int y = top;
    if (connection) {
        screen.put(0, y++, title("receive", history, columns, &Column::receive), Role::p99);
    }
    screen.put(0, y++, title("wait", history, columns, &Column::wait), Role::p99);
    draw_map(screen, y, maps, maps.wait, style);
    y += shares.map_rows;
    screen.put(0, y++, title("service", history, columns, &Column::service), Role::p99);
    draw_map(screen, y, maps, maps.service, style);
    y += shares.map_rows;
    if (connection) screen.put(0, y++, title("reply", history, columns, &Column::reply), Role::p99);
    if (shares.axis) draw_axis(screen, y, history, columns);
}

}  // namespace blkscope::top
