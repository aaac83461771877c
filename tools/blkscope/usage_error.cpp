#include "tools/blkscope/usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tools/program/nearest.hpp"

namespace blkscope {
namespace {

// A float beyond this is no limit that a user could reach.
constexpr double unreachable_end = 1e18;

struct Split {
    std::string before;
    std::string behind;
};

std::optional<Split> split_at(const std::string& text, std::string_view mark) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) return {};
    return Split{text.substr(0, at), text.substr(at + mark.size())};
}

// "3600.000000" is 3600.
std::string without_zeros(std::string number) {
    if (number.find('.') == std::string::npos) return number;
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
    return number;
}

// "--depth: Value 0 not in range 1 to 64"
std::optional<std::string> outside_range(const std::string& why) {
    const auto parts = split_at(why, " not in range ");
    if (!parts) return {};
    const auto typed = split_at(parts->before, "Value ");
    const auto ends = split_at(parts->behind, " to ");
    if (!typed || !ends) return {};
    const bool open = std::strtod(ends->behind.c_str(), nullptr) > unreachable_end;
    const std::string range =
        open ? "above 0"
             : fmt::format("{} to {}", without_zeros(ends->before), without_zeros(ends->behind));
    return fmt::format("{}'{}' is not {}", typed->before, typed->behind, range);
}

// "--order: random not in {arrival,fair}"
std::optional<std::string> no_such_word(const std::string& why) {
    const auto parts = split_at(why, " not in {");
    const auto name = split_at(why, ": ");
    if (!parts || !name || !parts->behind.ends_with('}')) return {};
    const std::string typed = parts->before.substr(name->before.size() + 2);
    std::vector<std::string> words;
    std::string rest = parts->behind.substr(0, parts->behind.size() - 1) + ",";
    for (size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
        words.push_back(rest.substr(0, comma));
        rest.erase(0, comma + 1);
    }
    const auto near = program::nearest(typed, words);
    return fmt::format("{}: '{}' is none of {}{}", name->before, typed, fmt::join(words, ", "),
                       near ? fmt::format("; the nearest is '{}'", *near) : "");
}

}  // namespace

std::string plain_reason(const std::string& why) {
    if (auto text = outside_range(why)) return *text;
    if (auto text = no_such_word(why)) return *text;
    if (const auto parts = split_at(why, "Could not convert: ")) {
        if (const auto named = split_at(parts->behind, " = ")) {
            return fmt::format("{}: '{}' is no whole number, or too large", named->before,
                               named->behind);
        }
    }
    if (const auto parts = split_at(why, "argument was not expected: ")) {
        return fmt::format("'{}' is one word too many", parts->behind);
    }
    if (const auto parts = split_at(why, "arguments were not expected: ")) {
        return fmt::format("'{}' are words too many", parts->behind);
    }
    if (why.starts_with("A subcommand is required")) return "a command is required";
    return why;
}

std::string option_meant_by(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 12> meanings{
        {{"--port", "--listen"},
         {"--bind", "--listen"},
         {"--address", "--listen"},
         {"--address", "--bind"},
         {"--socket", "--unix"},
         {"--depth", "--queue-depth"},
         {"--iodepth", "--queue-depth"},
         {"--duration", "--for"},
         {"--time", "--for"},
         {"--out", "--output"},
         {"--file", "--output"},
         {"--readonly", "--read-only"}}};
    const std::string_view name = word.substr(0, word.find('='));
    for (const auto& [typed, option] : meanings) {
        if (typed == name && std::ranges::find(known, option) != known.end()) {
            return std::string(option);
        }
    }
    return {};
}

}  // namespace blkscope
