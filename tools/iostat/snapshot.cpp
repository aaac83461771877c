#include "tools/iostat/snapshot.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "tools/iostat/groups.hpp"

namespace blkscope::iostat {
namespace {

constexpr size_t horizontal_places = 4;
constexpr size_t no_end = std::numeric_limits<size_t>::max();

constexpr std::array kstat_classes{
    std::pair<std::string_view, Kind>{"disk", Kind::disk},
    std::pair<std::string_view, Kind>{"partition", Kind::partition},
    std::pair<std::string_view, Kind>{"client", Kind::client},
    std::pair<std::string_view, Kind>{"tape", Kind::tape},
    std::pair<std::string_view, Kind>{"nfs", Kind::nfs},
    std::pair<std::string_view, Kind>{"iopath", Kind::path},
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Cuts the longest run of digits, or of other characters, from the front of `rest`.
std::string_view take_run(std::string_view& rest) {
    const bool digits = is_digit(rest.front());
    const auto end = std::ranges::find_if(rest, [&](char c) { return is_digit(c) != digits; });
    const std::string_view run = rest.substr(0, static_cast<size_t>(end - rest.begin()));
    rest.remove_prefix(run.size());
    return run;
}

// Compares by value, for any number of digits: without leading zeros, a longer number is larger.
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
        case Kind::client:
        case Kind::path:
            return 0;
        case Kind::tape:
            return 1;
        case Kind::nfs:
            return 2;
        case Kind::controller:  // placed by with_controllers()
            return 3;
    }
    return 3;
}

// The order in which devices get their places and are shown. By its name, a path is behind its disk.
bool in_order(const Device& one, const Device& other) {
    if (rank(one.kind) != rank(other.kind)) return rank(one.kind) < rank(other.kind);
    const auto names = compare_names(one.name, other.name);
    if (names != 0) return names < 0;
    return std::tie(one.module, one.instance) < std::tie(other.module, other.instance);
}

bool is_named(const Device& device, const std::string& operand) {
    if (operand.find('.') != std::string::npos) return device.name.starts_with(operand);
    return device.name == operand || name_at(device.name, device.provider) == operand;
}

bool asked_for(const Device& device, const Options& options) {
    return std::ranges::any_of(
        options.devices, [&](const std::string& operand) { return is_named(device, operand); });
}

// Floppy drives are mostly empty, and a horizontal report has only four places.
bool skipped_floppy(const Device& device, const Options& options) {
    return !options.vertical() && !options.limit && device.name.starts_with("fd") &&
           !asked_for(device, options);
}

size_t places(const Options& options) {
    if (options.limit) return static_cast<size_t>(*options.limit);
    return options.vertical() ? no_end : horizontal_places;
}

// Gives the places of a report to devices: first to those that were asked for, then to others.
class Places {
  public:
    Places(std::vector<Device> devices, const Options& options)
        : devices_(std::move(devices)), taken_(devices_.size()), options_(options) {
        const size_t operands = options.devices.size();
        left_ = places(options);
        if (operands > 0) left_ = left_ == no_end ? operands : std::max(left_, operands);
    }

    std::vector<Device> give();

  private:
    void give_to(size_t index);

    std::vector<Device> devices_;
    std::vector<bool> taken_;
    const Options& options_;
    size_t left_;
};

// The paths of a disk that was asked for come with the disk and need no places.
void Places::give_to(size_t index) {
    taken_[index] = true;
    --left_;
    if (devices_[index].name.find('.') != std::string::npos) return;
    const std::string front = devices_[index].name + ".";
    for (size_t i = 0; i < devices_.size(); ++i) {
        if (devices_[i].name.starts_with(front)) taken_[i] = true;
    }
}

std::vector<Device> Places::give() {
    std::ranges::sort(devices_, in_order);
    const bool all = options_.devices.empty();
    bool any = all;
    for (size_t i = 0; i < devices_.size() && left_ > 0; ++i) {
        if (taken_[i] || !(all || asked_for(devices_[i], options_))) continue;
        give_to(i);
        any = true;
    }
    const bool others = any && places(options_) != no_end;
    for (size_t i = 0; i < devices_.size() && left_ > 0 && others; ++i) {
        if (taken_[i]) continue;
        taken_[i] = true;
        --left_;
    }
    std::vector<Device> chosen;
    for (size_t i = 0; i < devices_.size(); ++i) {
        if (taken_[i]) chosen.push_back(std::move(devices_[i]));
    }
    return chosen;
}

}  // namespace

std::optional<Kind> kind_of(std::string_view kstat_class) {
    const auto* const found =
        std::ranges::find(kstat_classes, kstat_class, &std::pair<std::string_view, Kind>::first);
    if (found == kstat_classes.end()) return {};
    return found->second;
}

std::string_view class_of(Kind kind) {
    const auto* const found =
        std::ranges::find(kstat_classes, kind, &std::pair<std::string_view, Kind>::second);
    return found == kstat_classes.end() ? "controller" : found->first;
}

bool wanted(Kind kind, const Options& options) {
    switch (kind) {
        case Kind::disk:
            return options.disks;
        case Kind::partition:
            return options.partitions;
        case Kind::client:
            return options.clients;
        case Kind::path:
            return options.paths != Paths::none;
        case Kind::tape:
        case Kind::nfs:
        case Kind::controller:
            return true;
    }
    return false;
}

bool is_of_closed_clients(const Device& device) {
    return device.kind == Kind::client && device.name.ends_with(",client-gone");
}

std::string unique_name(const Device& device) {
    std::string name = device.name;
    return name.insert(std::min(name.find(','), name.size()), device.at_provider);
}

std::string name_at(std::string name, int provider) {
    if (provider <= 0) return name;
    return name.insert(std::min(name.find(','), name.size()), fmt::format("@{}", provider));
}

void use_unique_name(Device& device) {
    device.name = unique_name(device);
    device.at_provider.clear();
}

std::string without_provider(std::string_view name) {
    const size_t end = std::min(name.find(','), name.size());
    const size_t at = name.substr(0, end).rfind('@');
    std::string whole(name);
    if (at == std::string_view::npos || at + 1 == end) return whole;
    if (!std::ranges::all_of(name.substr(at + 1, end - at - 1), is_digit)) return whole;
    return whole.substr(0, at) + whole.substr(end);
}

bool is_name_of(std::string_view name, std::string_view device, int provider) {
    return name == device || name == name_at(std::string(device), provider);
}

bool same_name(const Device& one, const Device& other) {
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
    return whole <=> other_whole;  // because sd1 and sd01 are different names
}

Snapshot select(std::vector<Device> candidates, const Options& options) {
    std::erase_if(candidates, [&](const Device& device) {
        return !wanted(device.kind, options) || skipped_floppy(device, options);
    });
    std::vector<Device> shown = Places(std::move(candidates), options).give();
    shown = combine_paths(std::move(shown), options.paths);
    if (options.controllers) return with_controllers(std::move(shown));
    return shown;
}

std::vector<std::string> missing_names(const std::vector<Device>& devices, const Options& options) {
    std::vector<std::string> missing;
    for (const std::string& name : options.devices) {
        const bool found = std::ranges::any_of(
            devices, [&](const Device& device) { return is_named(device, name); });
        if (!found) missing.push_back(name);
    }
    return missing;
}

}  // namespace blkscope::iostat
