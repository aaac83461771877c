#include "blockdev/model/limit_spec.hpp"

#include <algorithm>
#include <stdexcept>

#include "blockdev/model/grammar.hpp"

namespace blkscope::model {
namespace {

constexpr uint64_t mebi = uint64_t{1} << 20;
constexpr uint64_t gibi = uint64_t{1} << 30;
constexpr uint64_t cloud_unit_bytes = 256 << 10;

constexpr bool counts_bytes(std::string_view name) {
    return name.ends_with("bps");
}

uint64_t parse_tokens(std::string_view text, std::string_view name, bool bytes, uint64_t min) {
    const bool zero = min == 0 && text == "0";
    const uint64_t number = bytes && !zero ? parse_bytes(text, name) : parse_count(text, name, min);
    if (number > TokenBucket::tokens_max) {
        throw std::invalid_argument(std::string(name) + " '" + std::string(text) +
                                    "' is too large");
    }
    return number;
}

Rate parse_rate(std::string_view text, bool bytes) {
    const auto parts = split(text, ':');
    if (parts.size() == 2 || parts.size() > 4) {
        throw std::invalid_argument("not of the form BASE[:PEAK:CREDITS[:INITIAL]]");
    }
    Rate rate{};
    rate.base = parse_tokens(parts[0], "BASE", bytes, 1);
    if (parts.size() == 1) return rate;
    rate.peak = parse_tokens(parts[1], "PEAK", bytes, 1);
    rate.credits = parse_tokens(parts[2], "CREDITS", bytes, 1);
    rate.initial = parts.size() == 4 ? parse_tokens(parts[3], "INITIAL", bytes, 0) : rate.credits;
    if (rate.peak < rate.base) throw std::invalid_argument("PEAK is less than BASE");
    if (rate.initial > rate.credits) throw std::invalid_argument("INITIAL is more than CREDITS");
    return rate;
}

std::string text_of_rate(const Rate& rate, bool bytes) {
    const auto number = [&](uint64_t tokens) {
        return bytes ? text_of_bytes(tokens) : std::to_string(tokens);
    };
    std::string text = number(rate.base);
    if (rate.peak == 0) return text;
    text += ":" + number(rate.peak) + ":" + number(rate.credits);
    return rate.initial == rate.credits ? text : text + ":" + number(rate.initial);
}

}  // namespace

LimitSpec LimitSpec::parse(std::string_view text) {
    return in_context("limit", text, [&] {
        LimitSpec spec;
        for (const std::string_view item : split(text, ',')) spec.take_item(item);
        const bool any = std::any_of(spec.rates.begin(), spec.rates.end(),
                                     [](const auto& rate) { return rate.has_value(); });
        if (!any) throw std::invalid_argument("there is no rate");
        return spec;
    });
}

void LimitSpec::take_item(std::string_view item) {
    const auto [name, value, separated] = head_of(item, '=');
    const auto* at = std::find(names.begin(), names.end(), name);
    if (separated && at != names.end()) {
        in_context("item", item, [&, text = value] {
            rates[static_cast<size_t>(at - names.begin())] = parse_rate(text, counts_bytes(*at));
        });
    } else if (separated && name == "unit") {
        unit_bytes = parse_bytes(value, "unit");
    } else if (const Head preset = head_of(item, ':'); preset.part == "gp2") {
        take_gp2(preset.rest);
    } else if (preset.part == "gp3") {
        take_gp3(preset.rest);
    } else {
        throw std::invalid_argument(
            "item '" + std::string(item) +
            "' is no iops=, bps=, read_iops=, read_bps=, write_iops=, write_bps=, unit=, gp2:SIZE "
            "or gp3");
    }
}

// Source: see presets.cpp.
void LimitSpec::take_gp2(std::string_view arguments) {
    if (arguments.empty()) throw std::invalid_argument("gp2 is not of the form gp2:SIZE");
    const uint64_t size_bytes = parse_bytes(arguments, "SIZE");
    const uint64_t base = std::clamp<uint64_t>(3 * (size_bytes / gibi), 100, 16'000);
    constexpr uint64_t burst = 3000;
    constexpr uint64_t credits = 5'400'000;
    rate(Name::iops) = base < burst ? Rate{base, burst, credits, credits} : Rate{base, 0, 0, 0};
    rate(Name::bps) = Rate{(size_bytes <= 170 * gibi ? 128 : 250) * mebi, 0, 0, 0};
    unit_bytes = cloud_unit_bytes;
}

void LimitSpec::take_gp3(std::string_view arguments) {
    uint64_t iops = 3000;
    uint64_t mebibytes = 125;
    if (!arguments.empty()) {
        const auto parts = split(arguments, ':');
        expect_parts(parts, 2, "gp3[:IOPS:MBPS]");
        iops = parse_tokens(parts[0], "IOPS", false, 1);
        mebibytes = parse_count(parts[1], "MBPS", 1);
        if (mebibytes > TokenBucket::tokens_max / mebi) {
            throw std::invalid_argument("MBPS is too large");
        }
    }
    rate(Name::iops) = Rate{iops, 0, 0, 0};
    rate(Name::bps) = Rate{mebibytes * mebi, 0, 0, 0};
    unit_bytes = cloud_unit_bytes;
}

std::string LimitSpec::text() const {
    std::string text;
    for (size_t i = 0; i < name_count; ++i) {
        if (!rates[i]) continue;
        text += (text.empty() ? "" : ",") + std::string(names[i]) + "=" +
                text_of_rate(*rates[i], counts_bytes(names[i]));
    }
    if (unit_bytes != 0) text += ",unit=" + text_of_bytes(unit_bytes);
    return text;
}

}  // namespace blkscope::model
