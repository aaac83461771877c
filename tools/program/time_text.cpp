#include "tools/program/time_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace blkscope::program {
namespace {

// Never with an exponent, which {:g} uses where the number has more digits than are asked for.
std::string number_text(double number, int digits) {
    const bool is_long = number >= std::pow(10, digits) - 0.5;
    return is_long ? fmt::format("{:.0f}", number) : fmt::format("{:.{}g}", number, digits);
}

}  // namespace

// 999.9us with three digits is 1ms.
std::string time_text(double ns, int digits) {
    constexpr std::array units{std::pair{1e9, "s"}, std::pair{1e6, "ms"}, std::pair{1e3, "us"}};
    for (const auto& [size, name] : units) {
        const std::string text = number_text(ns / size, digits);
        if (ns >= size || text == "1") return text + name;
    }
    return number_text(ns, digits) + "ns";
}

}  // namespace blkscope::program
