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

/// The columns of the table, by place, in the order in which they are omitted from a narrow screen.
/// Each column is named by its figure.
[[nodiscard]] std::vector<size_t> omission_order(
    const std::vector<double iostat::Figures::*>& columns);

/// The severity of one of the figures: plain, warning or critical. A figure without limits is
/// plain.
[[nodiscard]] Role threshold(double iostat::Figures::*column, const iostat::Figures& figures);

}  // namespace blkscope::top
