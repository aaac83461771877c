#include "tools/program/time_text.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace blkscope::program {

std::string time_text(double ns, int digits) {
    constexpr std::array units{std::pair{1e9, "s"}, std::pair{1e6, "ms"}, std::pair{1e3, "us"}};
    for (const auto& [size, name] : units) {
        if (ns >= size) return fmt::format("{:.{}g}{}", ns / size, digits, name);
    }
    return fmt::format("{:.{}g}ns", ns, digits);
}

}  // namespace blkscope::program
