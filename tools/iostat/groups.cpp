#include "tools/iostat/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace blkscope::iostat {
namespace {

// Adds `device` to `sum`. Counts of operations wrap at 32 bits, as in each device.
void add(Device& sum, const Device& device) {
    sum.crtime += device.crtime;
    sum.snaptime += device.snaptime;
    add_counters(sum.io, device.io);
    ErrorRecords errors;
    for (size_t position = 0; position < 3; ++position) {
        errors.push_back(
            {"", error_count(sum.errors, position) + error_count(device.errors, position)});
    }
    if (!sum.errors.empty() || !device.errors.empty()) sum.errors = std::move(errors);
    sum.members += device.members;
    sum.histograms.clear();  // the shapes may differ
}

// Whether the device hangs on the controller: a disk, or what stands behind a disk.
bool is_of_controller(const Device& device, std::string_view controller) {
    const bool is_disk_or_part = device.kind != Kind::tape && device.kind != Kind::nfs;
    return is_disk_or_part && controller_of(device.name) == controller;
}

std::vector<std::string> controllers_of(const Snapshot& devices) {
    std::vector<std::string> names;
    for (const Device& device : devices) {
        if (device.kind == Kind::disk) names.emplace_back(controller_of(device.name));
    }
    std::ranges::sort(names, [](const std::string& one, const std::string& other) {
        return compare_names(one, other) < 0;
    });
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase(names, "");
    return names;
}

// The sum of the controller's disks; there must be at least one.
Device sum_of(const std::string& controller, const Snapshot& devices) {
    std::optional<Device> sum;
    for (const Device& device : devices) {
        if (device.kind != Kind::disk || !is_of_controller(device, controller)) continue;
        if (sum) {
            add(*sum, device);
        } else {
            sum = device;
        }
    }
    sum->name = controller;
    sum->kid = 0;
    sum->kind = Kind::controller;
    return *sum;
}

// Splits a path into lun, target and initiator.
std::optional<std::array<std::string, 3>> parts_of(const std::string& path) {
    const size_t first = path.find('.');
    const size_t last = path.rfind('.');
    if (first == last || path.find('.', first + 1) != last) return {};
    return std::array{path.substr(0, first), path.substr(first + 1, last - first - 1),
                      path.substr(last + 1)};
}

// Adds the path to the device of that name. The first path creates the device.
void add_to(std::vector<Device>& sums, const std::string& name, Device path) {
    path.name = name;
    path.kid = 0;
    const auto sum = std::ranges::find_if(sums, [&](const Device& device) {
        return device.kind == Kind::path && device.name == name;
    });
    if (sum == sums.end()) {
        sums.push_back(std::move(path));
    } else {
        add(*sum, path);
    }
}

}  // namespace

void add_counters(kstat_io_t& sum, const kstat_io_t& io) {
    sum.nread += io.nread;
    sum.nwritten += io.nwritten;
    sum.reads += io.reads;
    sum.writes += io.writes;
    sum.wtime += io.wtime;
    sum.wlentime += io.wlentime;
    sum.rtime += io.rtime;
    sum.rlentime += io.rlentime;
    sum.wcnt += io.wcnt;
    sum.rcnt += io.rcnt;
}

std::string_view controller_of(std::string_view name) {
    if (!name.starts_with('c')) return {};
    const size_t end = name.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos) return {};
    return name.substr(0, end);
}

Snapshot with_controllers(Snapshot devices) {
    Snapshot shown;
    for (const std::string& controller : controllers_of(devices)) {
        shown.push_back(sum_of(controller, devices));
        const auto others = std::stable_partition(
            devices.begin(), devices.end(),
            [&](const Device& device) { return is_of_controller(device, controller); });
        shown.insert(shown.end(), std::move_iterator(devices.begin()), std::move_iterator(others));
        devices.erase(devices.begin(), others);
    }
    shown.insert(shown.end(), std::move_iterator(devices.begin()),
                 std::move_iterator(devices.end()));
    return shown;
}

std::vector<Device> combine_paths(std::vector<Device> devices, Paths paths) {
    if (paths == Paths::none) return devices;
    std::vector<Device> shown;
    for (Device& device : devices) {
        const auto parts = device.kind == Kind::path ? parts_of(device.name) : std::nullopt;
        if (!parts) {
            shown.push_back(std::move(device));
            continue;
        }
        const auto& [lun, target, initiator] = *parts;
        if (paths == Paths::by_initiator) {
            add_to(shown, fmt::format("{}.{}", lun, initiator), std::move(device));
        } else {
            add_to(shown, fmt::format("{}.{}", lun, target), device);
            shown.push_back(std::move(device));
        }
    }
    return shown;
}

}  // namespace blkscope::iostat
