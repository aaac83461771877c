#include "tools/top/terminal.hpp"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace blkscope::top {
namespace {

constexpr int escape_delay_ms = 25;  // an arrow's bytes come together; a lone Escape has no delay
constexpr short background = -1;     // the terminal's own background

constexpr size_t role_count = static_cast<size_t>(Role::heat_lowest) + heat_levels;

// The colours in the order of Role; the heat goes from cool to hot.
constexpr std::array<short, role_count> colors_8{
    -1,         -1,           -1,           COLOR_GREEN, COLOR_YELLOW,
    COLOR_RED,  COLOR_WHITE,  COLOR_BLUE,   COLOR_BLUE,  COLOR_CYAN,
    COLOR_CYAN, COLOR_YELLOW, COLOR_YELLOW, COLOR_RED,   COLOR_RED};
constexpr std::array<short, role_count> colors_256{-1, 245, -1, 40,  220, 196, 231, 24,
                                                   31, 37,  36, 106, 178, 208, 196};

bool is_utf8() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

short pair_of(Role role) {
    return static_cast<short>(static_cast<int>(role) + 1);
}

attr_t attributes_of(const Cell& cell) {
    attr_t attributes = A_NORMAL;
    if (cell.role == Role::heading || cell.role == Role::critical || cell.role == Role::p99) {
        attributes |= A_BOLD;
    }
    if (cell.role == Role::dim) attributes |= A_DIM;
    if (cell.reversed) attributes |= A_REVERSE;
    return attributes;
}

cchar_t curses_cell(const Cell& cell, bool color) {
    const std::array<wchar_t, 2> text{static_cast<wchar_t>(cell.glyph), L'\0'};
    cchar_t made{};
    setcchar(&made, text.data(), attributes_of(cell), color ? pair_of(cell.role) : short{0},
             nullptr);
    return made;
}

// The key as Session reads it; 0 for a key that Session ignores.
char key_of(int code) {
    if (code == KEY_DOWN) return 'j';
    if (code == KEY_UP) return 'k';
    return code > 0 && code < 0x80 ? static_cast<char>(code) : '\0';
}

}  // namespace

Terminal::Terminal(bool color_wanted) : screen_(newterm(nullptr, stdout, stdin)) {
    if (screen_ == nullptr) {
        const char* kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): one thread
        throw std::runtime_error(std::string("top: TERM=") + (kind != nullptr ? kind : "") +
                                 ": no terminal that can be drawn on; set TERM, or use --batch");
    }
    set_escdelay(escape_delay_ms);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    style_.utf8 = is_utf8();
    style_.color = color_wanted && has_colors();
    if (style_.color) start_colors();
}

Terminal::~Terminal() {
    endwin();
    delscreen(screen_);
}

void Terminal::start_colors() {
    start_color();
    const bool own_background = use_default_colors() == OK;
    const auto& colors = COLORS >= 256 ? colors_256 : colors_8;
    for (size_t i = 0; i < role_count; ++i) {
        const short color = colors[i] < 0 && !own_background ? short{COLOR_WHITE} : colors[i];
        init_pair(pair_of(static_cast<Role>(i)), color, own_background ? background : COLOR_BLACK);
    }
}

Size Terminal::size() {
    return {.columns = getmaxx(stdscr), .rows = getmaxy(stdscr)};
}

void Terminal::draw(const Screen& screen) {
    werase(stdscr);
    std::vector<cchar_t> row(static_cast<size_t>(screen.size().columns));
    for (int y = 0; y < screen.size().rows; ++y) {
        for (int x = 0; x < screen.size().columns; ++x) {
            row[static_cast<size_t>(x)] = curses_cell(screen.at(x, y), style_.color);
        }
        mvwadd_wchnstr(stdscr, y, 0, row.data(), screen.size().columns);
    }
    wrefresh(stdscr);
}

std::string Terminal::read_keys() {
    std::string keys;
    for (int code = wgetch(stdscr); code != ERR; code = wgetch(stdscr)) {
        if (const char key = key_of(code); key != '\0') keys += key;
    }
    return keys;
}

void Terminal::renew() {
    reset_prog_mode();  // the shell in between has set its own modes
    winsize now{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0) {
        resizeterm(now.ws_row, now.ws_col);
    }
    clearok(curscr, TRUE);
}

void Terminal::suspend() {
    endwin();
}

}  // namespace blkscope::top
