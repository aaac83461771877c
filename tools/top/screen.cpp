#include "tools/top/screen.hpp"

#include <algorithm>
#include <cassert>

namespace blkscope::top {
namespace {

char32_t printable(char c) {
    return c >= ' ' && c <= '~' ? static_cast<char32_t>(c) : U'?';
}

// Appends up to three bytes, because our glyphs are all from the basic plane.
void append_utf8(std::string& text, char32_t glyph) {
    const auto byte = [&](char32_t bits) { text += static_cast<char>(bits); };
    if (glyph < 0x80) return byte(glyph);
    if (glyph < 0x800) {
        byte(0xC0 | (glyph >> 6));
    } else {
        byte(0xE0 | (glyph >> 12));
        byte(0x80 | ((glyph >> 6) & 0x3F));
    }
    byte(0x80 | (glyph & 0x3F));
}

}  // namespace

Screen::Screen(Size size)
    : size_{std::max(size.columns, 0), std::max(size.rows, 0)},
      cells_(static_cast<size_t>(size_.columns) * static_cast<size_t>(size_.rows)) {}

bool Screen::contains(int x, int y) const {
    return x >= 0 && x < size_.columns && y >= 0 && y < size_.rows;
}

size_t Screen::index(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(size_.columns) + static_cast<size_t>(x);
}

const Cell& Screen::at(int x, int y) const {
    assert(contains(x, y));
    return cells_[index(x, y)];
}

int Screen::put(int x, int y, std::string_view text, Role role) {
    for (const char c : text) put_glyph(x++, y, printable(c), role);
    return x;
}

void Screen::put_glyph(int x, int y, char32_t glyph, Role role) {
    if (!contains(x, y)) return;
    Cell& cell = cells_[index(x, y)];
    cell.glyph = glyph;
    cell.role = role;
}

void Screen::reverse_row(int y) {
    for (int x = 0; x < size_.columns; ++x) {
        if (contains(x, y)) cells_[index(x, y)].reversed = true;
    }
}

std::string Screen::row_text(int y) const {
    std::string text;
    size_t end = 0;
    for (int x = 0; x < size_.columns; ++x) {
        append_utf8(text, at(x, y).glyph);
        if (at(x, y).glyph != U' ') end = text.size();
    }
    text.resize(end);
    return text;
}

std::string Screen::text() const {
    std::string text;
    for (int y = 0; y < size_.rows; ++y) text += row_text(y) + '\n';
    return text;
}

}  // namespace blkscope::top
