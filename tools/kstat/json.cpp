#include "tools/kstat/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace blkscope::kstat_command {

namespace {

unsigned char byte(char c) {
    return static_cast<unsigned char>(c);
}

// The sequences of more than one byte that UTF-8 has: RFC 3629, section 4.
struct Sequence {
    unsigned char first_min, first_max;
    unsigned char second_min, second_max;
    size_t length;
};

constexpr std::array sequences{
    Sequence{0xc2, 0xdf, 0x80, 0xbf, 2}, Sequence{0xe0, 0xe0, 0xa0, 0xbf, 3},
    Sequence{0xe1, 0xec, 0x80, 0xbf, 3}, Sequence{0xed, 0xed, 0x80, 0x9f, 3},
    Sequence{0xee, 0xef, 0x80, 0xbf, 3}, Sequence{0xf0, 0xf0, 0x90, 0xbf, 4},
    Sequence{0xf1, 0xf3, 0x80, 0xbf, 4}, Sequence{0xf4, 0xf4, 0x80, 0x8f, 4},
};

bool begins_with(std::string_view text, const Sequence& sequence) {
    const auto within = [&](size_t at, unsigned char min, unsigned char max) {
        return byte(text[at]) >= min && byte(text[at]) <= max;
    };
    if (text.size() < sequence.length) return false;
    if (!within(0, sequence.first_min, sequence.first_max)) return false;
    if (!within(1, sequence.second_min, sequence.second_max)) return false;
    for (size_t at = 2; at < sequence.length; ++at) {
        if (!within(at, 0x80, 0xbf)) return false;
    }
    return true;
}

// How many bytes in front can stand in a JSON string as they are; 0: the first cannot.
size_t plain_length(std::string_view text) {
    const unsigned char c = byte(text.front());
    if (c == '"' || c == '\\' || c < 0x20 || c == 0x7f) return 0;
    if (c < 0x80) return 1;
    const auto* const found = std::ranges::find_if(
        sequences, [&](const Sequence& sequence) { return begins_with(text, sequence); });
    return found == sequences.end() ? 0 : found->length;
}

std::string escaped(char c) {
    switch (c) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\n':
            return "\\n";
        case '\t':
            return "\\t";
        default:
            return fmt::format("\\u{:04x}", byte(c));
    }
}

bool is_finite(const Value& value) {
    if (const auto* number = std::get_if<float>(&value)) return std::isfinite(*number);
    if (const auto* number = std::get_if<double>(&value)) return std::isfinite(*number);
    return true;
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const size_t plain = plain_length(text);
        if (plain == 0) {
            quoted += escaped(text.front());
        } else {
            quoted += text.substr(0, plain);
        }
        text.remove_prefix(std::max<size_t>(plain, 1));
    }
    return quoted + '"';
}

std::string json_value(const Value& value) {
    if (const auto* text = std::get_if<Text>(&value)) return *text ? json_string(**text) : "null";
    return is_finite(value) ? value_text(value) : "null";
}

void append_object(std::string& out, const Reading& kstat, const Chosen& chosen,
                   std::string_view time) {
    fmt::format_to(std::back_inserter(out),
                   "{{\n\t\"module\": {},\n\t\"instance\": {},\n\t\"name\": {},\n"
                   "\t\"class\": {},\n\t\"type\": {},\n\t\"snaptime\": {},\n",
                   json_string(kstat.module), kstat.instance, json_string(kstat.name),
                   json_string(kstat.kstat_class), kstat.type, value_text(Moment{kstat.snaptime}));
    if (!time.empty()) fmt::format_to(std::back_inserter(out), "\t\"time\": {},\n", time);
    out += "\t\"data\": {";
    const Statistic* last = nullptr;
    for (const Statistic* statistic : chosen) {
        if (last != nullptr && last->name == statistic->name) continue;
        out += last == nullptr ? "\n\t\t" : ",\n\t\t";
        out += json_string(statistic->name) + ": " + json_value(statistic->value);
        last = statistic;
    }
    out += "\n\t}\n}";
}

}  // namespace blkscope::kstat_command
