#include "tools/check/duration.hpp"

#include <array>
#include <utility>

#include "tools/program/options.hpp"

namespace blkscope::check {

std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
    constexpr std::array units{std::pair{std::string_view("ms"), 1},
                               std::pair{std::string_view("s"), 1000},
                               std::pair{std::string_view("m"), 60'000}};
    constexpr long day_ms = 86'400'000;
    const size_t digits = text.find_first_not_of("0123456789");
    if (digits == std::string_view::npos) return {};
    const auto number = program::decimal<long>(text.substr(0, digits));
    for (const auto& [name, ms] : units) {
        if (name != text.substr(digits) || !number) continue;
        if (*number < 1 || *number > day_ms / ms) return {};
        return std::chrono::milliseconds(*number * ms);
    }
    return {};
}

}  // namespace blkscope::check
