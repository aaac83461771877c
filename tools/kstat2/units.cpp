#include "tools/kstat2/units.hpp"

#include <fmt/format.h>

#include <ctime>
#include <span>
#include <string_view>

namespace blkscope::kstat2_command {
namespace {

struct Unit {
    double size;
    std::string_view name;
};

// Each list begins with the smallest unit.
constexpr Unit seconds[]{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
constexpr Unit bytes[]{{1, "B"},        {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"},
                       {0x1p40, "TiB"}, {0x1p50, "PiB"}, {0x1p60, "EiB"}};
constexpr Unit bits[]{{1, "bit"}, {1e3, "kbit"}, {1e6, "Mbit"}, {1e9, "Gbit"}, {1e12, "Tbit"}};
constexpr Unit hertz[]{{1, "Hz"}, {1e3, "kHz"}, {1e6, "MHz"}, {1e9, "GHz"}};
constexpr Unit volts[]{{1e-3, "mV"}, {1, "V"}, {1e3, "kV"}};
constexpr Unit watts[]{{1e-3, "mW"}, {1, "W"}, {1e3, "kW"}, {1e6, "MW"}};
constexpr Unit amperes[]{{1e-3, "mA"}, {1, "A"}, {1e3, "kA"}};
constexpr Unit joules[]{{1e-3, "mJ"}, {1, "J"}, {1e3, "kJ"}, {1e6, "MJ"}};

// Zero gets the unit without a prefix.
const Unit& unit_for(double number, std::span<const Unit> units) {
    const Unit* unit = &units.front();
    for (const Unit& larger : units) {
        if (number >= larger.size || (number == 0 && larger.size == 1)) unit = &larger;
    }
    return *unit;
}

std::string in_ladder(double number, std::span<const Unit> units) {
    const Unit& unit = unit_for(number, units);
    const double count = number / unit.size;
    // A count of 1000 or more keeps all digits before the point. Such a count is beyond the largest
    // unit, or just below the next one, as 1023 KiB is.
    return fmt::format(fmt::runtime(count < 1000 ? "{:.4g} {}" : "{:.0f} {}"), count, unit.name);
}

// A provider may have any number and any scale: one that is beyond all dates, or none, is seconds.
std::string date_of(double since_1970) {
    constexpr double time_max = 0x1p62;
    std::tm parts{};
    const std::time_t time = since_1970 < time_max ? static_cast<std::time_t>(since_1970) : 0;
    if (!(since_1970 < time_max) || gmtime_r(&time, &parts) == nullptr) {
        return fmt::format("{:.10g} s", since_1970);
    }
    char text[64];
    const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text, length};
}

double physical(uint64_t raw, const Meaning& meaning) {
    const auto number = static_cast<double>(raw);
    const auto scale = static_cast<double>(meaning.scale);
    return (meaning.flags & KSTAT2_NVMF_FRACT) != 0 ? number / scale : number * scale;
}

// Integers stay exact unless a scale gives them a fraction.
std::string plain(uint64_t raw, const Meaning& meaning) {
    if (meaning.scale == 1) return fmt::format("{}", raw);
    return fmt::format("{:.10g}", physical(raw, meaning));
}

}  // namespace

std::string number_text(uint64_t raw, const Meaning& meaning, bool scaled) {
    const bool is_hexadecimal =
        meaning.type == KSTAT2_NVMT_ADDR || meaning.type == KSTAT2_NVMT_FLAGS;
    return scaled || is_hexadecimal ? in_units(raw, meaning) : fmt::format("{}", raw);
}

std::string in_units(uint64_t raw, const Meaning& meaning) {
    const double number = physical(raw, meaning);
    switch (meaning.type) {
        case KSTAT2_NVMT_T_EPOCH:
            return date_of(number);
        case KSTAT2_NVMT_T_REL:
        case KSTAT2_NVMT_T_ACC:
            return in_ladder(number, seconds);
        case KSTAT2_NVMT_PCT:
            return plain(raw, meaning) + " %";
        case KSTAT2_NVMT_ADDR:
        case KSTAT2_NVMT_FLAGS:
            return fmt::format("{:#x}", raw);
        case KSTAT2_NVMT_TEMP_C:
            return plain(raw, meaning) + " C";
        case KSTAT2_NVMT_RPM:
            return plain(raw, meaning) + " rpm";
        case KSTAT2_NVMT_VOLT:
            return in_ladder(number, volts);
        case KSTAT2_NVMT_WATT:
            return in_ladder(number, watts);
        case KSTAT2_NVMT_CURR:
            return in_ladder(number, amperes);
        case KSTAT2_NVMT_BYTES:
            return in_ladder(number, bytes);
        case KSTAT2_NVMT_BITS:
            return in_ladder(number, bits);
        case KSTAT2_NVMT_FREQ:
            return in_ladder(number, hertz);
        case KSTAT2_NVMT_JOULE:
            return in_ladder(number, joules);
        default:  // counts, states, ids and numbers without a unit
            return plain(raw, meaning);
    }
}

std::string type_name(uint16_t type) {
    const char* name = nullptr;
    if (kstat2_nv_metatype_string(type, &name) == KSTAT2_S_OK) return name;
    return fmt::format("{}", type);
}

std::string metadata_text(const Meaning& meaning) {
    std::string text = type_name(meaning.type);
    if ((meaning.flags & KSTAT2_NVMF_FRACT) != 0) text += ",fract";
    if ((meaning.flags & KSTAT2_NVMF_LIMIT) != 0) text += ",limit";
    return text + fmt::format(",{}", meaning.scale);
}

}  // namespace blkscope::kstat2_command
