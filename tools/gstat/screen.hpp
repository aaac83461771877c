// The live view on a terminal, through curses.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/gstat/report.hpp"

namespace blkscope::gstat {

/// A command of the user.
enum class Wish { none, quit, longer, shorter, consumers, set_filter, clear_filter, redraw };

/// Owns the terminal until destruction.
///
/// Threads: one. Errors: std::runtime_error if the terminal lacks what curses needs.
class Screen {
  public:
    Screen();
    ~Screen();
    Screen& operator=(Screen&&) = delete;

    /// Shows as many of the lines as the screen has room for.
    void show(const std::string& first, const std::string& header, const std::vector<Line>& lines);

    /// Waits up to `limit` for a command; none if the user gives none.
    [[nodiscard]] Wish wait(std::chrono::milliseconds limit);

    /// The text that the user types behind the prompt, in the second line.
    [[nodiscard]] std::string ask(const std::string& prompt);

  private:
    void show_line(int row, const Line& line) const;
    [[nodiscard]] int colour_of(double busy_percent) const;

    bool colours_ = false;
};

}  // namespace blkscope::gstat
