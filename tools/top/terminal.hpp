// Terminal: shows screens and takes keys, through ncurses. However it ends, the terminal is as it
// was before.
#pragma once

#include <string>

#include "tools/top/render.hpp"
#include "tools/top/screen.hpp"

struct screen;  // ncurses'

namespace blkscope::top {

class Terminal {
  public:
    /// Takes the terminal at standard input and output over. The signals that it answers to must be
    /// held back before, so that ncurses' handlers never run.
    ///
    /// Errors:  throws std::runtime_error if the terminal is of a kind that nobody knows.
    /// Threads: one, and one Terminal at a time; ncurses is one per process.
    explicit Terminal(bool color_wanted);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] Style style() const { return style_; }

    /// What it is now.
    [[nodiscard]] static Size size();

    void draw(const Screen& screen);

    /// The keys that were pressed, as Session has them; empty if none was, or the input has ended.
    [[nodiscard]] static std::string read_keys();

    /// Follows a change of the size or, when the process goes on after a stop, of the terminal's
    /// modes; the next draw() draws everything anew.
    static void renew();

    /// Gives the terminal back for as long as the process is stopped; the next draw() takes it.
    static void suspend();

  private:
    void start_colors();

    ::screen* screen_;
    Style style_;
};

}  // namespace blkscope::top
