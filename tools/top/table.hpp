// The table of the devices: iostat's columns, as many as there is room for.
#pragma once

#include <vector>

#include "tools/top/model.hpp"
#include "tools/top/render.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {

/// Where the table stands: its first row is that of the headings.
struct TableArea {
    int top;
    int rows;
};

/// Draws the headings and the devices, those around the one at `selected` if not all have room.
void draw_table(Screen& screen, TableArea area, const std::vector<const Tracked*>& devices,
                size_t selected, Style style);

/// The figures as they are printed: percentages that the clock's jitter took past 100 are 100.
[[nodiscard]] iostat::Figures printed(iostat::Figures figures);

/// How alarming the figure of a column of `iostat -xn` is, counted from the left: plain, warning or
/// critical.
[[nodiscard]] Role threshold(size_t column, const iostat::Figures& figures);

}  // namespace blkscope::top
