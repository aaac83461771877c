// Terminal: shows screens and reads keys, through ncurses. The destructor restores the terminal's
// previous state.
#pragma once

#include <string>

#include "tools/top/render.hpp"
#include "tools/top/screen.hpp"

struct screen;  // ncurses'

namespace blkscope::top {

class Terminal {
  public:
    /// Takes over the terminal at standard input and output. The signals that the program handles
    /// must be blocked before, so that ncurses' handlers never run.
    ///
    /// Errors:  throws std::runtime_error if the type of the terminal is unknown.
    /// Threads: one, and one Terminal at a time; ncurses has one state per process.
    explicit Terminal(bool color_wanted);
    ~Terminal();
    Terminal& operator=(Terminal&&) = delete;

    [[nodiscard]] Style style() const { return style_; }

    /// The present size of the terminal.
    [[nodiscard]] static Size size();

    void draw(const Screen& screen);

    /// The pressed keys, as Session reads them; empty if there are none, or if the input has ended.
    [[nodiscard]] static std::string read_keys();

    /// Adapts to a new size or, when the process continues after a stop, to new modes. The next
    /// draw() draws everything anew.
    static void renew();

    /// Gives the terminal back while the process is stopped. The next draw() takes it over again.
    static void suspend();

  private:
    void start_colors();

    ::screen* screen_;
    Style style_;
};

}  // namespace blkscope::top
