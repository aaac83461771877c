// Screen: rows of cells, each a character and what it stands for. What a terminal shows, with no
// terminal in it.
//
// Everything is clipped to its size, which may be nothing: who draws need not look.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::top {

/// What a cell is, for the terminal to choose a colour by. The heat rises from heat_lowest, in
/// heat_levels steps.
enum class Role : uint8_t { plain, dim, heading, good, warning, critical, p99, heat_lowest };

constexpr int heat_levels = 8;

/// The role of a level from 1 to heat_levels.
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

    /// `x` and `y` inside the screen, counted from the top left.
    [[nodiscard]] const Cell& at(int x, int y) const;

    /// Writes ASCII text, of which anything that cannot be printed becomes a question mark: names
    /// come from other processes. Gives the column behind it.
    int put(int x, int y, std::string_view text, Role role = Role::plain);

    void put_glyph(int x, int y, char32_t glyph, Role role = Role::plain);

    /// Shows a row in reverse.
    void reverse_row(int y);

    /// A row as UTF-8, without the blanks at its end.
    [[nodiscard]] std::string row_text(int y) const;

    /// All rows, each with a newline.
    [[nodiscard]] std::string text() const;

  private:
    [[nodiscard]] bool contains(int x, int y) const;
    [[nodiscard]] size_t index(int x, int y) const;

    Size size_;
    std::vector<Cell> cells_;
};

}  // namespace blkscope::top
