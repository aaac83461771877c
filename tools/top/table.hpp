// The table of the devices, with as many of iostat's columns as there is room for.
#pragma once

#include <vector>

#include "tools/top/model.hpp"
#include "tools/top/render.hpp"
#include "tools/top/screen.hpp"

namespace blkscope::top {

/// The area of the table; its first row has the headings.
struct TableArea {
    int top;
    int rows;
};

/// Draws the headings and the devices. If there is too little room, draws the devices around
/// the one at `selected`.
void draw_table(Screen& screen, TableArea area, const std::vector<const Tracked*>& devices,
                size_t selected, Style style);

/// The figures as printed: a percentage above 100, caused by the clock's jitter, becomes 100.
[[nodiscard]] iostat::Figures printed(iostat::Figures figures);

/// The severity of the figure in a column of `iostat -xn`, counted from the left: plain, warning or
/// critical.
[[nodiscard]] Role threshold(size_t column, const iostat::Figures& figures);

}  // namespace blkscope::top
