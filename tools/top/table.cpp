#include "tools/top/table.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "tools/iostat/columns.hpp"

namespace blkscope::top {
namespace {

using iostat::Figures;

// The order in which columns are omitted if there is too little room. A column that is not named
// here is omitted before these.
constexpr std::array<double Figures::*, 10> dispensable{
    &Figures::data_written, &Figures::data_read, &Figures::w_percent, &Figures::writes,
    &Figures::reads,        &Figures::wait,      &Figures::actv,      &Figures::wsvc_t,
    &Figures::b_percent,    &Figures::asvc_t};

constexpr size_t name_width_min = 6;
constexpr size_t client_width_min = 28;

using Cells = std::vector<std::string>;

// Cells without padding: in this table the widest cell sets the width of a column.
Cells bare(Cells cells) {
    for (std::string& cell : cells) {
        cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    }
    return cells;
}

Cells cells_of(const Tracked& tracked) {
    Cells cells = bare(iostat::value_cells(printed(tracked.figures), column_options()));
    if (tracked.is_gone()) std::ranges::fill(cells, std::string("-"));
    return cells;
}

std::string shown_name(const Tracked& tracked) {
    if (tracked.is_gone()) return tracked.name() + " (gone)";
    if (is_client(tracked)) {
        const std::string name = tracked.name().substr(tracked.name().find(',') + 1);
        return name + " " + tracked.last.who;
    }
    return tracked.is_stuck() ? tracked.name() + " (stuck)" : tracked.name();
}

char mark_of(Role role) {
    return role == Role::critical ? '!' : role == Role::warning ? '+' : ' ';
}

// The columns and their widths; a column without room has the width 0.
class Layout {
  public:
    Layout(const std::vector<const Tracked*>& devices, int columns)
        : figures_(iostat::shown_figures(column_options())) {
        const Cells headings = iostat::heading_cells(column_options());
        for (const std::string& heading : headings) widths_.push_back(heading.size());
        for (const Tracked* tracked : devices) {
            const Cells cells = cells_of(*tracked);
            for (size_t i = 0; i < count(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
            if (is_client(*tracked)) name_width_ = client_width_min;
        }
        for (const size_t column : omission_order(figures_)) {
            if (total() <= static_cast<size_t>(std::max(columns, 0))) return;
            widths_[column] = 0;
        }
    }

    [[nodiscard]] size_t count() const { return figures_.size(); }
    [[nodiscard]] int width(size_t column) const { return static_cast<int>(widths_[column]); }
    [[nodiscard]] double Figures::*figure(size_t column) const { return figures_[column]; }

  private:
    // The width with the mark that begins a line, and a blank or mark behind each column.
    [[nodiscard]] size_t total() const {
        size_t sum = 1 + name_width_;
        for (const size_t width : widths_) sum += width + (width > 0 ? 1 : 0);
        return sum;
    }

    std::vector<double Figures::*> figures_;
    std::vector<size_t> widths_;
    size_t name_width_ = name_width_min;
};

void draw_headings(Screen& screen, int y, const Layout& layout) {
    const Cells headings = bare(iostat::heading_cells(column_options()));
    int x = 1;
    for (size_t i = 0; i < layout.count(); ++i) {
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
    for (size_t i = 0; i < layout.count(); ++i) {
        if (layout.width(i) == 0) continue;
        const Role alarm = threshold(layout.figure(i), tracked.figures);
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

Figures printed(Figures figures) {
    figures.w_percent = std::min(figures.w_percent, 100.0);
    figures.b_percent = std::min(figures.b_percent, 100.0);
    return figures;
}

std::vector<size_t> omission_order(const std::vector<double Figures::*>& columns) {
    // 0 for a column that is not named, and from 1 on for the others.
    const auto rank = [&](size_t column) {
        const auto* const found = std::ranges::find(dispensable, columns[column]);
        return found == dispensable.end() ? 0 : found - dispensable.begin() + 1;
    };
    std::vector<size_t> order(columns.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t column) { return std::pair(rank(column), column); });
    return order;
}

Role threshold(double Figures::*column, const Figures& figures) {
    const auto judge = [](bool warning, bool critical) {
        return critical ? Role::critical : warning ? Role::warning : Role::plain;
    };
    const double value = figures.*column;
    if (column == &Figures::wait) {  // more requests wait than are served
        return judge(value >= 1 && value >= figures.actv, value >= 1 && value >= 4 * figures.actv);
    }
    if (column == &Figures::wsvc_t || column == &Figures::asvc_t) {
        return judge(value >= 10, value >= 100);
    }
    if (column == &Figures::w_percent) return judge(value >= 50, value >= 95);
    if (column == &Figures::b_percent) return judge(value >= 80, value >= 95);
    return Role::plain;
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
