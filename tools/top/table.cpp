#include "tools/top/table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "tools/iostat/columns.hpp"

namespace blkscope::top {

namespace {

// The columns of iostat -xn, in their order.
enum ColumnIndex : size_t { reads, writes, kib_read, kib_written, wait, actv, wsvc, asvc, w, b };
constexpr size_t column_count = b + 1;

// The order in which columns are omitted if there is too little room.
constexpr std::array<size_t, column_count> dispensable{kib_written, kib_read, w,    writes, reads,
                                                       wait,        actv,     wsvc, b,      asvc};

constexpr size_t name_width_min = 6;

using Cells = std::array<std::string, column_count>;

// Cells without padding: in this table the widest cell sets the width of a column.
Cells bare(const std::vector<std::string>& padded) {
    assert(padded.size() == column_count);  // or the colours would be of other columns
    Cells cells;
    for (size_t i = 0; i < cells.size(); ++i) {
        cells[i] = padded[i].substr(std::min(padded[i].find_first_not_of(' '), padded[i].size()));
    }
    return cells;
}

Cells cells_of(const Tracked& tracked) {
    if (!tracked.is_gone()) {
        return bare(iostat::value_cells(printed(tracked.figures), column_options()));
    }
    Cells cells;
    cells.fill("-");
    return cells;
}

std::string shown_name(const Tracked& tracked) {
    if (tracked.is_gone()) return tracked.name() + " (gone)";
    return tracked.is_stuck() ? tracked.name() + " (stuck)" : tracked.name();
}

char mark_of(Role role) {
    return role == Role::critical ? '!' : role == Role::warning ? '+' : ' ';
}

// The widths of the columns; 0 for a column that has no room.
class Layout {
  public:
    Layout(const std::vector<const Tracked*>& devices, int columns) {
        const auto headings = iostat::heading_cells(column_options());
        for (size_t i = 0; i < column_count; ++i) widths_[i] = headings[i].size();
        for (const Tracked* tracked : devices) {
            const Cells cells = cells_of(*tracked);
            for (size_t i = 0; i < column_count; ++i) {
                widths_[i] = std::max(widths_[i], cells[i].size());
            }
        }
        for (const size_t column : dispensable) {
            if (total() <= static_cast<size_t>(std::max(columns, 0))) return;
            widths_[column] = 0;
        }
    }

    [[nodiscard]] int width(size_t column) const { return static_cast<int>(widths_[column]); }

  private:
    // The width with the mark that begins a line, and a blank or mark behind each column.
    [[nodiscard]] size_t total() const {
        size_t sum = 1 + name_width_min;
        for (const size_t width : widths_) sum += width + (width > 0 ? 1 : 0);
        return sum;
    }

    std::array<size_t, column_count> widths_{};
};

void draw_headings(Screen& screen, int y, const Layout& layout) {
    const Cells headings = bare(iostat::heading_cells(column_options()));
    int x = 1;
    for (size_t i = 0; i < column_count; ++i) {
        if (layout.width(i) == 0) continue;
        x += layout.width(i);
        screen.put(x - static_cast<int>(headings[i].size()), y, headings[i], Role::heading);
        ++x;
    }
    screen.put(x, y, "device", Role::heading);
}

void draw_device(Screen& screen, int y, const Tracked& tracked, const Layout& layout, Style style) {
    const Cells cells = cells_of(tracked);
    int x = 1;
    for (size_t i = 0; i < column_count; ++i) {
        if (layout.width(i) == 0) continue;
        const Role alarm = threshold(i, tracked.figures);
        const Role role = tracked.is_gone() ? Role::dim : alarm;
        x += layout.width(i);
        screen.put(x - static_cast<int>(cells[i].size()), y, cells[i], role);
        if (!style.color) screen.put(x, y, std::string(1, mark_of(alarm)));
        ++x;
    }
    const Role role = tracked.is_gone()    ? Role::dim
                      : tracked.is_stuck() ? Role::critical
                                           : Role::plain;
    screen.put(x, y, shown_name(tracked), role);
}

// The first device to show, so that the selected device is visible.
size_t first_shown(size_t count, size_t selected, size_t places) {
    if (count <= places) return 0;
    return std::min(selected - std::min(selected, places / 2), count - places);
}

}  // namespace

iostat::Figures printed(iostat::Figures figures) {
    figures.w_percent = std::min(figures.w_percent, 100.0);
    figures.b_percent = std::min(figures.b_percent, 100.0);
    return figures;
}

Role threshold(size_t column, const iostat::Figures& figures) {
    const auto judge = [](bool warning, bool critical) {
        return critical ? Role::critical : warning ? Role::warning : Role::plain;
    };
    switch (column) {
        case wait:  // more requests wait than are served
            return judge(figures.wait >= 1 && figures.wait >= figures.actv,
                         figures.wait >= 1 && figures.wait >= 4 * figures.actv);
        case wsvc:
            return judge(figures.wsvc_t >= 10, figures.wsvc_t >= 100);
        case asvc:
            return judge(figures.asvc_t >= 10, figures.asvc_t >= 100);
        case w:
            return judge(figures.w_percent >= 50, figures.w_percent >= 95);
        case b:
            return judge(figures.b_percent >= 80, figures.b_percent >= 95);
        default:
            return Role::plain;
    }
}

void draw_table(Screen& screen, TableArea area, const std::vector<const Tracked*>& devices,
                size_t selected, Style style) {
    if (area.rows <= 0) return;
    const Layout layout(devices, screen.size().columns);
    draw_headings(screen, area.top, layout);
    const auto places = static_cast<size_t>(area.rows - 1);
    const size_t first = first_shown(devices.size(), selected, places);
    const size_t end = std::min(devices.size(), first + places);
    for (size_t i = first; i < end; ++i) {
        const int y = area.top + 1 + static_cast<int>(i - first);
        draw_device(screen, y, *devices[i], layout, style);
        if (i != selected) continue;
        screen.put(0, y, ">");
        screen.reverse_row(y);
    }
}

}  // namespace blkscope::top
