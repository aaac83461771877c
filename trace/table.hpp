// Table: the rows of a text with columns, as spreadsheets, scripts and people write them.
//
//     # a comment                                  left out, as are blank lines and rows of empty fields
//     op;offset;"bytes"                            the first row, which says what the separator is
//     read; 0 ;"4096"                              fields without the blanks around them, and without quotes
//
// The separator is a comma, a semicolon or a tab. A first line "sep=;" names it, too. A line ends with
// LF, CRLF or CR. A quoted field may have separators, line ends and doubled quotes.
//
// Ownership: borrows the text for its life.
// Threads:   one.
// Errors:    next() returns one line with the number of the row's first line; nothing after that.
// Source:    RFC 4180.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace blkscope::trace {

/// A row of a real table has less. An endless line ends here.
inline constexpr size_t row_bytes_max = size_t{1} << 20;

class Table {
  public:
    explicit Table(std::string_view text);

    /// Goes to the next row. False at the end of the text.
    [[nodiscard]] Result<bool, std::string> next();

    /// The fields of the row, until the next call.
    [[nodiscard]] std::span<const std::string> fields() const { return {fields_.data(), count_}; }
    /// The number of its first line, from 1.
    [[nodiscard]] size_t line() const { return line_; }
    /// The row is the last one, and its line has no end: the file may be cut off.
    [[nodiscard]] bool is_unended() const { return unended_; }

  private:
    void find_separator();
    [[nodiscard]] bool skip_line_without_fields();
    std::string take_row();
    std::string take_quoted(std::string& field);
    void take_plain(std::string& field);
    void skip_blanks();
    void end_line();
    std::string& new_field();
    [[nodiscard]] bool at_end_of_line() const;
    [[nodiscard]] bool is_blank(char c) const;
    [[nodiscard]] bool all_empty() const;

    std::string_view rest_;
    char separator_ = ',';
    size_t next_line_ = 1;
    size_t line_ = 0;
    std::vector<std::string> fields_;  // keeps its memory from row to row
    size_t count_ = 0;
    bool unended_ = false;
};

}  // namespace blkscope::trace
