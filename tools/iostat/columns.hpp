// All columns in one table, from which each layout takes its own. Cells are padded to the width of
// the column, but not with -r. Numbers never depend on the locale.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/figures.hpp"
#include "tools/iostat/processors.hpp"

namespace blkscope::iostat {

/// The headings of a device's columns.
[[nodiscard]] std::vector<std::string> heading_cells(const Options& options);

/// The values below these headings.
[[nodiscard]] std::vector<std::string> value_cells(const Figures& figures, const Options& options);

/// The figures that these columns show. A program that treats columns differently names them by
/// their figures. So the program depends on neither their number nor their order.
[[nodiscard]] std::vector<double Figures::*> shown_figures(const Options& options);

/// The columns beside the devices: terminals and processors. A part that was not asked for is
/// empty.
struct Sides {
    std::string tty;
    std::string cpu;
};

[[nodiscard]] Sides title_sides(const Options& options);
[[nodiscard]] Sides heading_sides(const Options& options);
[[nodiscard]] Sides value_sides(const ProcessorFigures& figures, const Options& options);

/// Whether every column of -x is from 0 to less than 0.1 and, with -e, no error was counted.
[[nodiscard]] bool is_idle(const Figures& figures, const Options& options);

}  // namespace blkscope::iostat
