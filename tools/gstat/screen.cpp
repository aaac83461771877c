#include "tools/gstat/screen.hpp"

#include <curses.h>

#include <array>
#include <cstdio>
#include <stdexcept>

namespace blkscope::gstat {
namespace {

enum Colour : short { green = 1, magenta, red };

constexpr int lines_above = 2;  // the lines above the devices

}  // namespace

// newterm, because initscr ends the process if the terminal is unknown.
Screen::Screen() {
    if (newterm(nullptr, stdout, stdin) == nullptr) {
        throw std::runtime_error("this terminal cannot be drawn on; use -B");
    }
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    colours_ = has_colors() && start_color() == OK && use_default_colors() == OK;
    if (!colours_) return;
    init_pair(green, COLOR_GREEN, -1);
    init_pair(magenta, COLOR_MAGENTA, -1);
    init_pair(red, COLOR_RED, -1);
}

Screen::~Screen() {
    endwin();
}

int Screen::colour_of(double busy_percent) const {
    if (!colours_) return 0;
    if (busy_percent > 80) return COLOR_PAIR(red);
    return busy_percent > 50 ? COLOR_PAIR(magenta) : COLOR_PAIR(green);
}

void Screen::show_line(int row, const Line& line) const {
    const int colour = colour_of(line.busy_percent);
    move(row, 0);
    addnstr(line.figures.c_str(), COLS);
    attron(colour);
    addnstr(line.busy.c_str(), COLS);
    attroff(colour);
    addnstr(line.name.c_str(), COLS);
}

void Screen::show(const std::string& first, const std::string& header,
                  const std::vector<Line>& lines) {
    erase();
    mvaddnstr(0, 0, first.c_str(), COLS);
    mvaddnstr(1, 0, header.c_str(), COLS);
    int row = lines_above;
    for (const Line& line : lines) {
        if (row == LINES) break;
        show_line(row++, line);
    }
    refresh();
}

Wish Screen::wait(std::chrono::milliseconds limit) {
    timeout(static_cast<int>(limit.count()));
    switch (getch()) {
        case 'q':
            return Wish::quit;
        case '>':
            return Wish::longer;
        case '<':
            return Wish::shorter;
        case 'c':
            return Wish::consumers;
        case 'f':
            return Wish::set_filter;
        case 'F':
            return Wish::clear_filter;
        case KEY_RESIZE:
            return Wish::redraw;
        default:
            return Wish::none;
    }
}

std::string Screen::ask(const std::string& prompt) {
    std::array<char, 128> answer{};
    move(1, 0);
    clrtoeol();
    addnstr(prompt.c_str(), COLS);
    timeout(-1);
    echo();
    curs_set(1);
    const int result = getnstr(answer.data(), static_cast<int>(answer.size() - 1));
    curs_set(0);
    noecho();
    return result == ERR ? std::string() : answer.data();
}

}  // namespace blkscope::gstat
