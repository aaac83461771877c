#include "tools/blkscope/stage_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace blkscope {
namespace {

constexpr int bar_width = 30;

}  // namespace

std::string time_text(double ns) {
    if (ns >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
    return fmt::format("{:.1f} us", ns / 1e3);
}

std::string ms_text(int64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) / 1e6);
}

const char* short_name_of(trace::Op op) {
    if (op == trace::Op::write_zeroes) return "zeroes";
    if (op == trace::Op::block_status) return "status";
    return trace::name_of(op);
}

std::string stage_line(std::string_view name, double ns, double all, std::optional<uint64_t> p99) {
    const double share = all > 0 ? std::clamp(ns / all, 0.0, 1.0) : 0;
    const auto length = static_cast<size_t>(std::lround(share * bar_width));
    return fmt::format("  {:<12} {:>11} {:>5.1f} %  {:<{}} {}\n", name, time_text(ns), share * 100,
                       std::string(length, '#'), bar_width,
                       p99 ? "p99 " + time_text(static_cast<double>(*p99)) : "");
}

}  // namespace blkscope
