#include "tools/check/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/program/json.hpp"
#include "tools/program/nearest.hpp"

namespace blkscope::check {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t text_bytes_max = 1024;
constexpr double number_max = 1e15;  // a double has each whole number up to here

constexpr std::array figures{
    std::pair{"mean"sv, Figure::mean},    std::pair{"p50"sv, Figure::p50},
    std::pair{"p90"sv, Figure::p90},      std::pair{"p95"sv, Figure::p95},
    std::pair{"p99"sv, Figure::p99},      std::pair{"p99.9"sv, Figure::p999},
    std::pair{"p99.99"sv, Figure::p9999}, std::pair{"max"sv, Figure::max},
    std::pair{"late"sv, Figure::late},    std::pair{"count"sv, Figure::count},
    std::pair{"rate"sv, Figure::rate},    std::pair{"iops"sv, Figure::rate},
    std::pair{"bps"sv, Figure::bps},      std::pair{"errors"sv, Figure::errors},
    std::pair{"wait"sv, Figure::wait},    std::pair{"actv"sv, Figure::actv},
    std::pair{"busy"sv, Figure::busy}};

// The longer ones first: "<" begins "<=".
constexpr std::array comparisons{
    std::pair{"<="sv, Comparison::at_most}, std::pair{">="sv, Comparison::at_least},
    std::pair{"=="sv, Comparison::equal},   std::pair{"!="sv, Comparison::different},
    std::pair{"<"sv, Comparison::less},     std::pair{">"sv, Comparison::more}};

constexpr std::array phases{"wait"sv, "service"sv, "total"sv};
constexpr std::array operations{"read"sv, "write"sv, "flush"sv, "trim"sv, "write_zeroes"sv};
constexpr std::array time_units{std::pair{"ns"sv, 1.0}, std::pair{"us"sv, 1e3},
                                std::pair{"ms"sv, 1e6}, std::pair{"s"sv, 1e9}};
constexpr std::array byte_units{'K', 'M', 'G', 'T'};  // of 1024 each

// Whether the bound is a time. `late` is one, and has no phase.
bool is_bound_by_time(Figure figure) {
    return is_time(figure) || figure == Figure::late;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.' || c == '_';
}

std::string_view trimmed(std::string_view text) {
    const auto begin = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Cuts ".WORD" from the end of `text` if the word is one of `words`.
template <size_t count>
std::string_view take_last(std::string_view& text,
                           const std::array<std::string_view, count>& words) {
    const size_t dot = text.rfind('.');
    if (dot == std::string_view::npos) return {};
    const std::string_view last = text.substr(dot + 1);
    if (std::ranges::find(words, last) == words.end()) return {};
    text = text.substr(0, dot);
    return last;
}

class Parser {
  public:
    explicit Parser(std::string_view text) : rest_(text) { condition_.text = trimmed(text); }

    Condition parse() {
        if (rest_.size() > text_bytes_max) fail("it is too long");
        if (trimmed(rest_).empty()) fail("it is empty");
        take_figure();
        take_devices();
        take_comparison();
        take_bound();
        return std::move(condition_);
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        // A word of the user may be long or binary; the message is one line.
        const std::string shown = condition_.text.substr(0, 100);
        throw std::invalid_argument(
            fmt::format("check: condition {}: {}", program::json_string(shown), why));
    }

    void skip_blanks() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    }

    void take_figure() {
        skip_blanks();
        const auto end = std::ranges::find_if_not(rest_, is_of_name);
        name_ = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
        const auto* const found =
            std::ranges::find(figures, name_, [](const auto& figure) { return figure.first; });
        if (found == figures.end()) fail_for_figure();
        condition_.figure = found->second;
        rest_.remove_prefix(name_.size());
        skip_blanks();
        if (!rest_.starts_with('(')) fail(fmt::format("there is no '(' behind {}", name_));
        rest_.remove_prefix(1);
    }

    [[noreturn]] void fail_for_figure() const {
        std::vector<std::string> known;
        known.reserve(std::size(figures));
        for (const auto& [name, figure] : figures) known.emplace_back(name);
        if (name_.empty()) {
            fail(fmt::format("it begins with no figure; there are {}", fmt::join(known, ", ")));
        }
        const auto near = program::nearest(name_, known);
        fail(near ? fmt::format("there is no figure {}; the nearest is {}", name_, *near)
                  : fmt::format("there is no figure {}; there are {}", name_,
                                fmt::join(known, ", ")));
    }

    void take_devices() {
        const size_t end = rest_.find(')');
        if (end == std::string_view::npos) fail("there is no ')' behind the device");
        std::string_view devices = trimmed(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        const std::string_view phase = take_last(devices, phases);
        const std::string_view operation = take_last(devices, operations);
        const bool of_queue = condition_.figure == Figure::wait ||
                              condition_.figure == Figure::actv ||
                              condition_.figure == Figure::busy;
        const bool has_bytes = operation.empty() || operation == "read" || operation == "write";
        if (!phase.empty() && !is_time(condition_.figure)) {
            fail(fmt::format("{} has no phase; leave .{} out", name_, phase));
        }
        if (!operation.empty() && of_queue) {
            fail(
                fmt::format("{} is of reads and writes together; leave .{} out", name_, operation));
        }
        if (!operation.empty() && condition_.figure == Figure::late) {
            fail(fmt::format("late is of all operations together; leave .{} out", operation));
        }
        if (!has_bytes && condition_.figure == Figure::bps) {
            fail(fmt::format("bps is of reads and writes; leave .{} out", operation));
        }
        if (devices.empty()) fail("there is no device in the brackets");
        condition_.devices = devices;
        condition_.operation = operation;
        condition_.phase = is_time(condition_.figure) && phase.empty() ? "total" : phase;
    }

    void take_comparison() {
        skip_blanks();
        const auto* const found = std::ranges::find_if(comparisons, [&](const auto& comparison) {
            return rest_.starts_with(comparison.first);
        });
        if (found == comparisons.end()) fail("behind ')' must be one of < <= > >= == !=");
        condition_.comparison = found->second;
        rest_.remove_prefix(found->first.size());
    }

    void take_bound() {
        skip_blanks();
        if (rest_.empty() || !is_digit(rest_.front())) fail("the bound must be a number");
        const char* const end = rest_.data() + rest_.size();
        double number = 0;
        const auto [at, error] =
            std::from_chars(rest_.data(), end, number, std::chars_format::fixed);
        if (error != std::errc{} || number > number_max) fail("the bound is too large");
        rest_.remove_prefix(static_cast<size_t>(at - rest_.data()));
        condition_.bound = number * unit_of(trimmed(rest_));
        if (condition_.bound > number_max) fail("the bound is too large");
        if (is_bound_by_time(condition_.figure)) condition_.bound = std::round(condition_.bound);
    }

    // The value of one unit.
    [[nodiscard]] double unit_of(std::string_view unit) const {
        if (is_bound_by_time(condition_.figure)) {
            const auto* const found =
                std::ranges::find(time_units, unit, [](const auto& known) { return known.first; });
            if (found == time_units.end()) fail("the bound of a time has a unit: ns, us, ms or s");
            return found->second;
        }
        if (condition_.figure == Figure::busy) {
            if (unit != "%") fail("the bound of busy has the unit %");
            return 1;
        }
        if (condition_.figure == Figure::bps) return byte_unit_of(unit);
        const bool is_rate = condition_.figure == Figure::rate;
        if (is_rate && unit == "/s") return 1;
        if (!unit.empty()) {
            fail(fmt::format("the bound of {} has no unit{}", name_, is_rate ? " but /s" : ""));
        }
        return 1;
    }

    // The bytes of one unit: K and KiB are 1024. "KB" is 1000 for some, so it is refused.
    [[nodiscard]] double byte_unit_of(std::string_view unit) const {
        if (unit.ends_with("/s")) unit.remove_suffix(2);
        if (unit.empty() || unit == "B") return 1;
        const auto* const found = std::ranges::find(byte_units, unit.front());
        if (found == byte_units.end() || (unit.size() > 1 && unit.substr(1) != "iB")) {
            fail("the bound of bps has no unit but K, M, G or T (KiB, MiB, ...), and may have /s");
        }
        return std::pow(1024, found - byte_units.begin() + 1);
    }

    std::string_view rest_;
    std::string_view name_;  // of the figure
    Condition condition_;
};

}  // namespace

bool is_time(Figure figure) {
    switch (figure) {
        case Figure::mean:
        case Figure::p50:
        case Figure::p90:
        case Figure::p95:
        case Figure::p99:
        case Figure::p999:
        case Figure::p9999:
        case Figure::max:
            return true;
        case Figure::late:
        case Figure::count:
        case Figure::rate:
        case Figure::bps:
        case Figure::errors:
        case Figure::wait:
        case Figure::actv:
        case Figure::busy:
            return false;
    }
    return false;
}

Condition parse_condition(std::string_view text) {
    return Parser(text).parse();
}

std::optional<std::string> word_mistake(
    const Condition& condition, const std::function<bool(const std::string& pattern)>& matches) {
    const auto is_word = [](const auto& words, std::string_view word) {
        return std::ranges::find(words, word) != words.end();
    };
    std::string device = condition.devices;
    std::string unknown;
    while (!matches(device)) {
        const size_t dot = device.rfind('.');
        if (dot == std::string::npos) return {};
        const std::string word = device.substr(dot + 1);
        if (!is_word(operations, word) && !is_word(phases, word)) unknown = word;
        device.resize(dot);
    }
    if (device == condition.devices) return {};
    if (unknown.empty()) return "the order is DEVICE.OPERATION.PHASE";
    std::vector<std::string> known(operations.begin(), operations.end());
    known.insert(known.end(), phases.begin(), phases.end());
    const std::string shown = program::shown(unknown);
    const auto near = program::nearest(unknown, known);
    if (!near) {
        return fmt::format("no such operation {}; there are {}", shown,
                           fmt::join(operations, ", "));
    }
    const char* const kind = is_word(phases, *near) ? "phase" : "operation";
    return fmt::format("no such {} {}; did you mean {}?", kind, shown, *near);
}

}  // namespace blkscope::check
