// The words that the grammars of models, limits and faults share: times, sizes, counts, lists.
//
//     1.5ms ── parse_time ──▶ 1'500'000'000 ps ── text_of ──▶ 1.5ms
//
// A time is kept in whole picoseconds, so that its text is exact in both directions. A device of
// 100 GB/s takes 10 ps for a byte.
//
// Units:     as each name says. Ownership: none. Threads: any.
// Errors:    std::invalid_argument, with one line that names the word and its fault.
#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::model {

/// A length of time, not negative, at most a day.
struct Time {
    static constexpr int64_t max_ps = 86'400 * int64_t{1'000'000'000'000};

    int64_t ps = 0;

    [[nodiscard]] constexpr double ns() const { return static_cast<double>(ps) / 1e3; }

    friend auto operator<=>(const Time&, const Time&) = default;
};

/// "1.5ms": a decimal number, then ns, us, ms or s.
Time parse_time(std::string_view text);
/// The time in the largest unit of which it has at least one.
std::string text_of(Time time);

/// A whole number of at least `min`. `name` is the word for it in an error.
uint64_t parse_count(std::string_view text, std::string_view name, uint64_t min = 0);
/// A decimal number above zero.
double parse_positive(std::string_view text, std::string_view name);
/// The shortest text that is the same number.
std::string text_of(double number);

/// A number of bytes, with or without K, M, G or T, as parse_size().
uint64_t parse_bytes(std::string_view text, std::string_view name);
/// The bytes with the largest unit that divides them.
std::string text_of_bytes(uint64_t bytes);

/// The parts between the separators; one part if there is no separator.
std::vector<std::string_view> split(std::string_view text, char separator);

/// `part` at the front of `text` up to the separator. The rest, behind it, is empty without one.
struct Head {
    std::string_view part;
    std::string_view rest;
    bool separated = false;
};
Head head_of(std::string_view text, char separator);

/// Throws std::invalid_argument unless `parts` has `count` parts; `form` shows what was expected.
void expect_parts(const std::vector<std::string_view>& parts, size_t count, std::string_view form);

/// Throws std::invalid_argument: `what`, `text` and the reason, in one line.
[[noreturn]] void refuse_in_context(std::string_view what, std::string_view text,
                                    const char* reason);

/// Runs `parse`. A failure gets `what` and `text` in front of its line.
template <class Parse>
auto in_context(std::string_view what, std::string_view text, Parse parse) {
    try {
        return parse();
    } catch (const std::invalid_argument& failure) {
        refuse_in_context(what, text, failure.what());
    }
}

}  // namespace blkscope::model
