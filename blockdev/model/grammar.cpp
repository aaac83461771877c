#include "blockdev/model/grammar.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include "base/decimal.hpp"
#include "blockdev/backing/backing.hpp"

namespace blkscope::model {
namespace {

struct Unit {
    std::string_view name;
    int64_t ps;
};
constexpr std::array<Unit, 4> units{
    {{"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}}};

std::invalid_argument bad(std::string_view name, std::string_view text, std::string_view fault) {
    return std::invalid_argument(std::string(name) + " '" + std::string(text) + "' " +
                                 std::string(fault));
}

// The picoseconds of a decimal number of `unit_ps`.
Time time_of(std::string_view text, std::string_view number, int64_t unit_ps) {
    assert(unit_ps > 0);
    const Head digits = head_of(number, '.');
    if (digits.part.empty() || (digits.separated && digits.rest.empty())) {
        throw bad("time", text, "is no number");
    }
    int64_t ps = 0;
    const auto add = [&](char digit, int64_t worth) {
        if (digit < '0' || digit > '9') throw bad("time", text, "is no number");
        int64_t more = 0;
        if (__builtin_mul_overflow(int64_t{digit - '0'}, worth, &more) ||
            __builtin_add_overflow(ps, more, &ps)) {
            throw bad("time", text, "is longer than a day");
        }
    };
    for (const char digit : digits.part) {
        if (__builtin_mul_overflow(ps, int64_t{10}, &ps)) {
            throw bad("time", text, "is longer than a day");
        }
        add(digit, unit_ps);
    }
    int64_t worth = unit_ps;
    for (const char digit : digits.rest) {
        if (digit != '0' && worth % 10 != 0) throw bad("time", text, "is finer than a picosecond");
        worth /= 10;
        add(digit, worth);
    }
    assert(ps >= 0);
    if (ps > Time::max_ps) throw bad("time", text, "is longer than a day");
    return {ps};
}

}  // namespace

Time parse_time(std::string_view text) {
    if (text.starts_with('-')) throw bad("time", text, "is negative");
    const size_t end = text.find_first_not_of("0123456789.");
    if (end == 0 || text.empty()) throw bad("time", text, "is no number");
    if (end == std::string_view::npos) throw bad("time", text, "has no unit: ns, us, ms or s");
    for (const Unit& unit : units) {
        if (text.substr(end) == unit.name) return time_of(text, text.substr(0, end), unit.ps);
    }
    throw bad("time", text, "has an unknown unit: not ns, us, ms or s");
}

std::string text_of(Time time) {
    assert(time.ps >= 0);
    const Unit* unit = &units.back();
    for (const Unit& each : units) {
        if (time.ps >= each.ps) {
            unit = &each;
            break;
        }
    }
    std::string text = std::to_string(time.ps / unit->ps);
    std::string fraction = std::to_string(unit->ps + time.ps % unit->ps).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    if (!fraction.empty()) text += "." + fraction;
    return text + std::string(unit->name);
}

uint64_t parse_count(std::string_view text, std::string_view name, uint64_t min) {
    if (text.starts_with('-')) throw bad(name, text, "is negative");
    const auto number = decimal<uint64_t>(text);
    if (!number) throw bad(name, text, "is no whole number");
    if (*number < min) throw bad(name, text, "is less than " + std::to_string(min));
    return *number;
}

double parse_positive(std::string_view text, std::string_view name) {
    if (text.starts_with('-')) throw bad(name, text, "is negative");
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (error != std::errc{} || at != end || !std::isfinite(number)) {
        throw bad(name, text, "is no number");
    }
    if (number <= 0) throw bad(name, text, "is not above zero");
    return number;
}

std::string text_of(double number) {
    std::array<char, 400> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    assert(end.ec == std::errc{});
    return {text.data(), end.ptr};
}

uint64_t parse_bytes(std::string_view text, std::string_view name) {
    try {
        return parse_size(std::string(text));
    } catch (const std::invalid_argument&) {
        throw bad(name, text, "is no positive number, with or without K, M, G or T");
    }
}

std::string text_of_bytes(uint64_t bytes) {
    constexpr std::string_view letters = "KMGT";
    size_t unit = 0;
    while (unit < letters.size() && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    std::string text = std::to_string(bytes);
    if (unit > 0) text += letters[unit - 1];
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

Head head_of(std::string_view text, char separator) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos) return {text, {}, false};
    return {text.substr(0, at), text.substr(at + 1), true};
}

void expect_parts(const std::vector<std::string_view>& parts, size_t count, std::string_view form) {
    assert(count > 0);
    if (parts.size() == count) return;
    throw std::invalid_argument("not of the form " + std::string(form));
}

void refuse_in_context(std::string_view what, std::string_view text, const char* reason) {
    assert(reason != nullptr);
    throw std::invalid_argument(std::string(what) + " '" + std::string(text) + "': " + reason);
}

}  // namespace blkscope::model
