#include "trace/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

namespace blkscope::trace {
namespace {

constexpr std::array separators{',', ';', '\t'};

std::string_view first_line_of(std::string_view text) {
    return text.substr(0, std::min(text.find_first_of("\r\n"), row_bytes_max));
}

}  // namespace

Table::Table(std::string_view text) : rest_(text) {
    constexpr std::string_view named = "sep=";
    if (const auto line = first_line_of(rest_);
        line.starts_with(named) && line.size() == named.size() + 1) {
        separator_ = line.back();
        rest_.remove_prefix(line.size());
        end_line();
        return;
    }
    while (skip_line_without_fields()) {
    }
    find_separator();
}

// That of the first row. A name of a column has none of them.
void Table::find_separator() {
    const std::string_view line = first_line_of(rest_);
    separator_ = *std::ranges::max_element(
        separators, {}, [&](char separator) { return std::ranges::count(line, separator); });
}

bool Table::is_blank(char c) const {
    return (c == ' ' || c == '\t') && c != separator_;
}

void Table::skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
}

bool Table::at_end_of_line() const {
    return rest_.empty() || rest_.front() == '\n' || rest_.front() == '\r';
}

void Table::end_line() {
    if (rest_.empty()) return;
    assert(at_end_of_line());
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
    ++next_line_;
}

// A blank line, or a comment.
bool Table::skip_line_without_fields() {
    const size_t begin = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    const std::string_view line = rest_.substr(begin);
    const bool is_comment = line.starts_with('#');
    if (rest_.empty() || (!line.empty() && !is_comment && line[0] != '\n' && line[0] != '\r')) {
        return false;
    }
    rest_.remove_prefix(std::min(rest_.find_first_of("\r\n", begin), rest_.size()));
    end_line();
    return true;
}

std::string& Table::new_field() {
    if (count_ == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[count_++];
    field.clear();
    return field;
}

bool Table::all_empty() const {
    return std::ranges::all_of(fields(), &std::string::empty);
}

Result<bool, std::string> Table::next() {
    do {
        while (skip_line_without_fields()) {
        }
        if (rest_.empty()) return false;
        line_ = next_line_;
        if (std::string why = take_row(); !why.empty()) {
            rest_ = {};
            return fmt::format("line {}: {}", line_, why);
        }
    } while (all_empty());
    return true;
}

std::string Table::take_row() {
    const size_t bytes_before = rest_.size();
    count_ = 0;
    for (;;) {
        std::string& field = new_field();
        skip_blanks();
        if (rest_.starts_with('"')) {
            if (std::string why = take_quoted(field); !why.empty()) return why;
        } else {
            take_plain(field);
        }
        if (bytes_before - rest_.size() > row_bytes_max) return "longer than 1 MiB";
        if (field.find('\0') != std::string::npos) return "it has a zero byte, as no text has";
        if (at_end_of_line()) break;
        assert(rest_.front() == separator_);
        rest_.remove_prefix(1);
    }
    unended_ = rest_.empty();
    end_line();
    return {};
}

void Table::take_plain(std::string& field) {
    const std::array ends{separator_, '\n', '\r'};
    const size_t within = std::min(rest_.size(), row_bytes_max + 1);
    const std::string_view head = rest_.substr(0, within);
    const size_t end = std::min(head.find_first_of({ends.data(), ends.size()}), within);
    std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    field = text;
}

// With the quote at the front of the rest.
std::string Table::take_quoted(std::string& field) {
    rest_.remove_prefix(1);
    for (;;) {
        const std::string_view head = rest_.substr(0, row_bytes_max + 1);
        const size_t quote = head.find('"');
        if (quote == std::string_view::npos) {
            return rest_.size() > row_bytes_max ? "longer than 1 MiB" : "a quote without its end";
        }
        const std::string_view part = rest_.substr(0, quote);
        next_line_ += static_cast<size_t>(std::ranges::count(part, '\n'));
        field += part;
        if (field.size() > row_bytes_max) return "longer than 1 MiB";
        rest_.remove_prefix(quote + 1);
        if (!rest_.starts_with('"')) break;
        field += '"';
        rest_.remove_prefix(1);
    }
    skip_blanks();
    if (!at_end_of_line() && rest_.front() != separator_) {
        return fmt::format("field {}: text behind the end of its quotes", count_);
    }
    return {};
}

}  // namespace blkscope::trace
