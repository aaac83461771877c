// The live view on a terminal, through curses.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/gstat/report.hpp"

namespace blkscope::gstat {

/// What the user did.
enum class Wish { none, quit, longer, shorter, consumers, set_filter, clear_filter, redraw };

/// Owns the terminal until destruction.
///
/// Threads: one. Errors: std::runtime_error if the terminal cannot do it.
class Screen {
  public:
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    /// As many of the lines as there is room for.
    void show(const std::string& first, const std::string& header, const std::vector<Line>& lines);

    /// What is done within `limit`; none if that is nothing.
    [[nodiscard]] Wish wait(std::chrono::milliseconds limit);

    /// What the user types behind the prompt, in the second line.
    [[nodiscard]] std::string ask(const std::string& prompt);

  private:
    void show_line(int row, const Line& line) const;
    [[nodiscard]] int colour_of(double busy_percent) const;

    bool colours_ = false;
};

}  // namespace blkscope::gstat
