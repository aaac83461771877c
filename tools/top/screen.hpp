// Screen: rows of cells, each with a character and a role. A Screen is what a terminal shows, but
// needs no terminal.
//
// Everything is clipped to its size, which may be zero. Callers need not check the size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::top {

/// The role of a cell, from which the terminal chooses a colour. The heat rises from heat_lowest,
/// in heat_levels steps.
enum class Role : uint8_t { plain, dim, heading, good, warning, critical, p99, heat_lowest };

constexpr int heat_levels = 8;

/// The role of a heat level from 1 to heat_levels.
[[nodiscard]] constexpr Role heat_role(int level) {
    return static_cast<Role>(static_cast<int>(Role::heat_lowest) + level - 1);
}

struct Cell {
    char32_t glyph = U' ';
    Role role = Role::plain;
    bool reversed = false;
    bool operator==(const Cell&) const = default;
};

struct Size {
    int columns = 0;
    int rows = 0;
    bool operator==(const Size&) const = default;
};

class Screen {
  public:
    explicit Screen(Size size);

    [[nodiscard]] Size size() const { return size_; }

    /// The cell at `x` and `y` inside the screen, counted from the top left.
    [[nodiscard]] const Cell& at(int x, int y) const;

    /// Writes ASCII text. Names come from other processes, so a question mark replaces every
    /// character that cannot be printed. Returns the column behind the text.
    int put(int x, int y, std::string_view text, Role role = Role::plain);

    void put_glyph(int x, int y, char32_t glyph, Role role = Role::plain);

    /// Shows a row in reverse video.
    void reverse_row(int y);

    /// A row as UTF-8, without the blanks at its end.
    [[nodiscard]] std::string row_text(int y) const;

    /// All rows, each with a newline at its end.
    [[nodiscard]] std::string text() const;

  private:
    [[nodiscard]] bool contains(int x, int y) const;
    [[nodiscard]] size_t index(int x, int y) const;

    Size size_;
    std::vector<Cell> cells_;
};

}  // namespace blkscope::top
