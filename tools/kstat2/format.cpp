#include "tools/kstat2/format.hpp"

#include <fmt/format.h>

#include "tools/kstat2/histogram.hpp"
#include "tools/kstat2/units.hpp"

namespace blkscope::kstat2_command {
namespace {

constexpr std::string_view indent = "        ";

std::string element_text(uint64_t number) {
    return fmt::format("{}", number);
}

std::string element_text(const std::string& text) {
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_control = byte < 0x20 || byte == 0x7f;
        shown += is_control ? fmt::format("\\{:03o}", byte) : std::string(1, c);
    }
    return shown;
}

template <class T>
std::string array_text(const std::vector<T>& elements) {
    std::string text = "[";
    for (const T& element : elements) {
        if (text.size() > 1) text += ',';
        text += element_text(element);
    }
    return text + ']';
}

struct Text {
    std::string operator()(std::monostate /*invalid*/) const { return "-"; }
    std::string operator()(uint64_t number) const { return element_text(number); }
    std::string operator()(const std::string& text) const { return element_text(text); }
    template <class T>
    std::string operator()(const std::vector<T>& elements) const {
        return array_text(elements);
    }
};

std::string human_text(const Statistic& statistic, bool scaled) {
    const auto* const number = std::get_if<uint64_t>(&statistic.value);
    return number == nullptr ? value_text(statistic.value)
                             : number_text(*number, statistic.meaning, scaled);
}

void append_statistic(std::string& out, const Options& options, const Statistic& statistic) {
    const std::string value = human_text(statistic, options.scaled);
    std::string line = fmt::format("{}{:<31} {}", indent, statistic.name, value);
    if (options.metadata) line += "  [" + metadata_text(statistic.meaning) + "]";
    if (options.descriptions && !statistic.meaning.desc.empty()) {
        line += "  (" + element_text(statistic.meaning.desc) + ")";
    }
    out += line + '\n';
}

std::string map_metadata_text(const Reading& reading) {
    const char* name = "";
    kstat2_map_metatype_string(reading.metatype, &name);
    std::string text = fmt::format("  [{}", name);
    if ((reading.metaflags & KSTAT2_MF_STABLE) != 0) text += ",stable";
    if ((reading.metaflags & KSTAT2_MF_PRIV) != 0) text += ",priv";
    return text + ']';
}

}  // namespace

std::string value_text(const Value& value) {
    return std::visit(Text(), value);
}

void append_block(std::string& out, const Options& options, const Reading& reading) {
    out += reading.uri;
    if ((reading.flags & KSTAT2_MAPF_DORM) != 0) out += "  (dormant)";
    if (options.metadata) out += map_metadata_text(reading);
    out += '\n';
    if (options.descriptions) out += fmt::format("{}{}\n", indent, element_text(reading.desc));
    const auto drawn = draw_histogram(reading, indent, options.scaled);
    for (const Statistic& statistic : reading.statistics) {
        if (drawn && statistic.name == "buckets") {
            out += *drawn;
        } else {
            append_statistic(out, options, statistic);
        }
    }
    out += '\n';
}

void append_lines(std::string& out, const Options& options, const Reading& reading) {
    for (const Statistic& statistic : reading.statistics) {
        out += reading.uri + ':' + statistic.name;
        if (options.format == Format::tabs) out += '\t' + value_text(statistic.value);
        if (options.metadata) out += '\t' + metadata_text(statistic.meaning);
        out += '\n';
    }
}

}  // namespace blkscope::kstat2_command
