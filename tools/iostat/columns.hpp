// The columns there are: one table, from which each layout takes its own. Cells are padded to their
// column's width, and with -r not at all. Numbers never depend on the locale.
#pragma once

#include <string>
#include <vector>

#include "tools/iostat/figures.hpp"
#include "tools/iostat/processors.hpp"

namespace blkscope::iostat {

/// The headings of a device's columns.
[[nodiscard]] std::vector<std::string> heading_cells(const Options& options);

/// What stands under them.
[[nodiscard]] std::vector<std::string> value_cells(const Figures& figures, const Options& options);

/// What stands beside the devices: terminals and processors. Each is empty unless it was asked for.
struct Sides {
    std::string tty;
    std::string cpu;
};

[[nodiscard]] Sides title_sides(const Options& options);
[[nodiscard]] Sides heading_sides(const Options& options);
[[nodiscard]] Sides value_sides(const ProcessorFigures& figures, const Options& options);

/// Whether every column of -x would be from 0 to less than 0.1 and, with -e, no error was counted.
[[nodiscard]] bool is_idle(const Figures& figures, const Options& options);

}  // namespace blkscope::iostat
