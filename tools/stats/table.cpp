#include "tools/stats/table.hpp"

#include <fmt/format.h>

#include <iterator>

#include "tools/program/time_text.hpp"

namespace blkscope::stats_command {
namespace {

struct Unit {
    double size;
    const char* name;
};

constexpr std::array<Unit, 4> sizes{{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}, {1, "B"}}};

std::string text(const std::optional<double>& value, const std::string& unit) {
    if (!value) return "-";
    if (unit == "ns") return program::time_text(*value, 4);
    if (unit != "bytes") return fmt::format("{:.4g}", *value);
    const Unit* chosen = sizes.data();
    while (chosen != &sizes.back() && *value < chosen->size) ++chosen;
    return fmt::format("{:.4g}{}", *value / chosen->size, chosen->name);
}

void append_line(std::string& out, std::string_view name, const Figures& figures,
                 const std::string& unit) {
    const auto append = [&](const std::optional<double>& value) {
        fmt::format_to(std::back_inserter(out), " {:>7}", text(value, unit));
    };
    fmt::format_to(std::back_inserter(out), "{:<15} {:>8}", name, figures.count);
    append(figures.mean);
    append(figures.min);
    for (const auto& quantile : figures.quantiles) append(quantile);
    append(figures.max);
    out += '\n';
}

}  // namespace

std::string table(const Device& device) {
    if (!device.trouble.empty()) return fmt::format("{}: {}\n", device.name, device.trouble);
    std::string out = fmt::format("{:<15} {:>8} {:>7} {:>7}", device.name, "count", "mean", "min");
    for (const std::string_view name : quantile_names) out += fmt::format(" {:>7}", name);
    out += fmt::format(" {:>7}\n", "max");
    for (const Row& row : compare(device)) {
        if (row.digest) append_line(out, row.name, *row.digest, row.unit);
        if (row.histogram) append_line(out, "  histogram", *row.histogram, row.unit);
    }
    return out;
}

}  // namespace blkscope::stats_command
