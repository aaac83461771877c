#include "tools/iostat/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "tools/iostat/groups.hpp"

namespace blkscope::iostat {
namespace {

// The words for added and removed devices of a kind.
struct Words {
    std::string_view noun;
    std::string_view came;
    std::string_view went;
};

Words words(Kind kind) {
    switch (kind) {
        case Kind::disk:
            return {"disk", "added", "removed"};
        case Kind::partition:
            return {"partition", "added", "removed"};
        case Kind::client:
            return {"client", "added", "removed"};
        case Kind::tape:
            return {"device", "added", "removed"};
        case Kind::nfs:
            return {"NFS", "mounted", "unmounted"};
        case Kind::path:
            return {"multi-path", "added", "removed"};
        case Kind::controller:
            return {"controller", "added", "removed"};
    }
    return {};
}

std::string_view disk_of(std::string_view partition) {
    return partition.substr(0, partition.find(','));
}

// A partition's letter is shown as a slice number from 0; any other name is shown as it is.
std::string slice_of(std::string_view partition) {
    const size_t comma = partition.find(',');
    if (comma == std::string_view::npos) return std::string(partition);
    const std::string_view slice = partition.substr(comma + 1);
    if (slice.size() == 1 && slice[0] >= 'a' && slice[0] <= 'z') {
        return std::to_string(slice[0] - 'a');
    }
    return std::string(slice);
}

bool is_partition_of(const Device& device, const Device& disk) {
    return device.kind == Kind::partition && disk.kind == Kind::disk &&
           device.name.find(',') != std::string::npos && disk_of(device.name) == disk.name;
}

// Clients come and go while a device stays.
bool is_lasting(const Device& device) {
    return device.kind != Kind::client;
}

// A device's name, by the parts that same_name() compares, and its creation. The creation is 0 for a
// sum, because the sum stays when a member comes or goes.
using Identity = std::tuple<std::string_view, int, std::string_view, hrtime_t>;

Identity identity_of(const Device& device) {
    const bool is_sum = device.members > 1 || device.kind == Kind::controller;
    return {device.module, device.instance, device.name, is_sum ? 0 : device.crtime};
}

// Of two devices of one name, one may be missing.
Snapshot missing_from(const Snapshot& other, const Snapshot& devices) {
    std::multiset<Identity> others;
    for (const Device& device : other) others.insert(identity_of(device));
    Snapshot missing;
    for (const Device& device : devices) {
        if (!is_lasting(device)) continue;
        const auto found = others.find(identity_of(device));
        if (found == others.end()) {
            missing.push_back(device);
        } else {
            others.erase(found);
        }
    }
    return missing;
}

bool is_disk_of(const Device& device, const Device& controller) {
    return device.kind == Kind::disk && controller.kind == Kind::controller &&
           controller_of(device.name) == controller.name;
}

// Adds ` (slices 0, 1)` to a disk, and ` (disks t0d0, t1d0)` to a controller.
std::string with_members(const Device& device, const Snapshot& changed) {
    std::vector<std::string> names;
    for (const Device& other : changed) {
        if (is_partition_of(other, device)) names.push_back(slice_of(other.name));
        if (is_disk_of(other, device)) names.push_back(other.name.substr(device.name.size()));
    }
    if (names.empty()) return "";
    return fmt::format(" ({} {})", device.kind == Kind::disk ? "slices" : "disks",
                       fmt::join(names, ", "));
}

// Whether the line of another device already names this one.
bool told_by_another(const Device& device, const Snapshot& changed) {
    return std::ranges::any_of(changed, [&](const Device& other) {
        if (is_disk_of(device, other)) return true;
        return is_partition_of(device, other) && !told_by_another(other, changed);
    });
}

void tell(std::vector<std::string>& changes, const Snapshot& changed,
          std::string_view Words::*verb) {
    for (const Device& device : changed) {
        if (told_by_another(device, changed)) continue;
        const Words say = words(device.kind);
        changes.push_back(fmt::format("{} {}: {}{}", say.noun, say.*verb, device.name,
                                      with_members(device, changed)));
    }
}

}  // namespace

bool same_devices(const Snapshot& before, const Snapshot& now) {
    return missing_from(now, before).empty() && missing_from(before, now).empty();
}

std::vector<std::string> device_changes(const Snapshot& before, const Snapshot& now) {
    std::vector<std::string> changes;
    tell(changes, missing_from(now, before), &Words::went);
    tell(changes, missing_from(before, now), &Words::came);
    return changes;
}

std::string change_lines(const std::vector<std::string>& changes) {
    std::string text;
    for (const std::string& change : changes) text += fmt::format("<<{}>>\n", change);
    return text;
}

}  // namespace blkscope::iostat
