#include "tools/kstat/format.hpp"

#include <fmt/format.h>

#include <iterator>

namespace blkscope::kstat_command {
namespace {

constexpr size_t name_width = 30;  // bytes: KSTAT_STRLEN without the NUL

// The whole part and the nine digits behind it are integers throughout. A double has too few
// digits for some months of uptime.
std::string seconds_text(hrtime_t ns) {
    if (ns == 0) return "0";
    constexpr uint64_t ns_per_s = 1'000'000'000;
    const uint64_t size = ns < 0 ? -static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    return fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", size / ns_per_s, size % ns_per_s);
}

struct AsText {
    std::string operator()(const Moment& moment) const { return seconds_text(moment.ns); }
    std::string operator()(const Text& text) const { return text.value_or("(null)"); }
    template <class Number>
    std::string operator()(Number number) const {
        return fmt::format("{}", number);
    }
};

// Pads to a number of bytes, not of columns, because a name may contain bytes that are no text.
void append_padded(std::string& out, std::string_view text, size_t width) {
    out += text;
    if (text.size() < width) out.append(width - text.size(), ' ');
}

std::string_view separator(Format format) {
    return format == Format::colons ? ":" : "\t";
}

}  // namespace

std::string value_text(const Value& value) {
    return std::visit(AsText{}, value);
}

void append_block(std::string& out, const Reading& kstat, const Chosen& chosen) {
    out += "module: ";
    append_padded(out, kstat.module, name_width);
    fmt::format_to(std::back_inserter(out), "  instance: {:<6}\nname:   ", kstat.instance);
    append_padded(out, kstat.name, name_width);
    out += "  class:    " + kstat.kstat_class + "\n";
    for (const Statistic* statistic : chosen) {
        out += '\t';
        append_padded(out, statistic->name, name_width);
        out += "  " + value_text(statistic->value) + "\n";
    }
    out += '\n';
}

void append_lines(std::string& out, Format format, const Reading& kstat, const Chosen& chosen) {
    const std::string front = fmt::format("{}:{}:{}:", kstat.module, kstat.instance, kstat.name);
    for (const Statistic* statistic : chosen) {
        out += front;
        out += statistic->name;
        if (format != Format::names) {
            out += separator(format);
            out += value_text(statistic->value);
        }
        out += '\n';
    }
}

}  // namespace blkscope::kstat_command
