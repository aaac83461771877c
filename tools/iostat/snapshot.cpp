#include "iostat/snapshot.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace blkscope::iostat {

namespace {

constexpr size_t horizontal_places = 4;
constexpr size_t no_end = std::numeric_limits<size_t>::max();

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Cuts the longest run of digits, or of anything else, from the front of `rest`.
std::string_view take_run(std::string_view& rest) {
    const bool digits = is_digit(rest.front());
    const auto end = std::ranges::find_if(rest, [&](char c) { return is_digit(c) != digits; });
    const std::string_view run = rest.substr(0, static_cast<size_t>(end - rest.begin()));
    rest.remove_prefix(run.size());
    return run;
}

// By value, however many digits: without leading zeros, the longer number is the larger.
std::strong_ordering compare_numbers(std::string_view one, std::string_view other) {
    one.remove_prefix(std::min(one.find_first_not_of('0'), one.size()));
    other.remove_prefix(std::min(other.find_first_not_of('0'), other.size()));
    if (one.size() != other.size()) return one.size() <=> other.size();
    return one <=> other;
}

int rank(Kind kind) {
    switch (kind) {
        case Kind::disk:
        case Kind::partition:
            return 0;
        case Kind::tape:
            return 1;
        case Kind::nfs:
            return 2;
    }
    return 3;
}

bool in_order(const Device& one, const Device& other) {
    if (rank(one.kind) != rank(other.kind)) return rank(one.kind) < rank(other.kind);
    const auto names = compare_names(one.name, other.name);
    if (names != 0) return names < 0;
    return std::tie(one.module, one.instance) < std::tie(other.module, other.instance);
}

bool asked_for(const Device& device, const Options& options) {
    return std::ranges::any_of(options.devices, [&](const std::string& operand) {
        if (operand.find('.') != std::string::npos) return device.name.starts_with(operand);
        return device.name == operand;
    });
}

// The four places of a horizontal report are too few for drives that are mostly empty.
bool skipped_floppy(const Device& device, const Options& options) {
    return !options.vertical() && !options.limit && device.name.starts_with("fd") &&
           !asked_for(device, options);
}

size_t places(const Options& options) {
    if (options.limit) return static_cast<size_t>(*options.limit);
    return options.vertical() ? no_end : horizontal_places;
}

void keep(std::vector<Device>& devices, size_t at_most) {
    if (devices.size() > at_most) devices.resize(at_most);
}

// `devices` is sorted; puts those asked for first and cuts off what has no place.
void give_places(std::vector<Device>& devices, const Options& options) {
    const size_t operands = options.devices.size();
    const auto others = std::stable_partition(
        devices.begin(), devices.end(), [&](const Device& d) { return asked_for(d, options); });
    const auto matches = static_cast<size_t>(others - devices.begin());
    if (matches == 0) return devices.clear();
    if (places(options) != no_end) return keep(devices, std::max(places(options), operands));
    keep(devices, std::min(matches, operands));
}

}  // namespace

std::optional<Kind> kind_of(std::string_view kstat_class) {
    if (kstat_class == "disk") return Kind::disk;
    if (kstat_class == "partition") return Kind::partition;
    if (kstat_class == "tape") return Kind::tape;
    if (kstat_class == "nfs") return Kind::nfs;
    return {};
}

bool wanted(Kind kind, const Options& options) {
    switch (kind) {
        case Kind::disk:
            return options.disks;
        case Kind::partition:
            return options.partitions;
        case Kind::tape:
        case Kind::nfs:
            return true;
    }
    return false;
}

bool same_kstat(const Device& one, const Device& other) {
    return one.instance == other.instance && one.name == other.name && one.module == other.module;
}

std::strong_ordering compare_names(std::string_view one, std::string_view other) {
    const std::string_view whole = one;
    const std::string_view other_whole = other;
    while (!one.empty() && !other.empty()) {
        const std::string_view run = take_run(one);
        const std::string_view other_run = take_run(other);
        const auto order = is_digit(run.front()) && is_digit(other_run.front())
                               ? compare_numbers(run, other_run)
                               : run <=> other_run;
        if (order != 0) return order;
    }
    if (one.empty() != other.empty()) return other.empty() <=> one.empty();
    return whole <=> other_whole;  // sd1 and sd01 are different names
}

Snapshot select(std::vector<Device> candidates, const Options& options) {
    std::erase_if(candidates, [&](const Device& device) {
        return !wanted(device.kind, options) || skipped_floppy(device, options);
    });
    std::ranges::sort(candidates, in_order);
    if (options.devices.empty()) {
        keep(candidates, places(options));
    } else {
        give_places(candidates, options);
        std::ranges::sort(candidates, in_order);
    }
    return candidates;
}

}  // namespace blkscope::iostat
