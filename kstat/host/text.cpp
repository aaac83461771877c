#include "kstat/host/text.hpp"

#include <charconv>

namespace blkscope::kstat::host {
namespace {

constexpr std::string_view blanks = " \t\r\n";

}  // namespace

std::optional<std::string_view> take_line(std::string_view& text) {
    if (text.empty()) return std::nullopt;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

std::string_view take_word(std::string_view& text) {
    text = trimmed(text);
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    return word;
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<uint64_t> to_number(std::string_view text) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
    return number;
}

std::optional<uint64_t> leading_number(std::string_view text) {
    return to_number(text.substr(0, text.find_first_not_of("0123456789")));
}

std::optional<std::string_view> rest_of_line(std::string_view text, std::string_view key) {
    for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
        const bool begins_line = at == 0 || text[at - 1] == '\n';
        std::string_view rest = text.substr(at + key.size());
        const bool ends_word = rest.empty() || blanks.find(rest.front()) != std::string_view::npos;
        if (begins_line && ends_word) return trimmed(rest.substr(0, rest.find('\n')));
    }
    return std::nullopt;
}

uint64_t value_of(std::string_view text, std::string_view key) {
    auto rest = rest_of_line(text, key);
    if (!rest) return 0;
    return to_number(take_word(*rest)).value_or(0);
}

uint64_t sum_of(std::string_view text, std::string_view prefix) {
    uint64_t sum = 0;
    while (auto line = take_line(text)) {
        if (!line->starts_with(prefix)) continue;
        take_word(*line);
        sum += to_number(take_word(*line)).value_or(0);
    }
    return sum;
}

}  // namespace blkscope::kstat::host
