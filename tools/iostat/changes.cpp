#include "iostat/changes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blkscope::iostat {

namespace {

// How a kind's comings and goings are told.
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
        case Kind::tape:
            return {"device", "added", "removed"};
        case Kind::nfs:
            return {"NFS", "mounted", "unmounted"};
    }
    return {};
}

std::string_view disk_of(std::string_view partition) {
    return partition.substr(0, partition.find(','));
}

// A partition's letter counts slices from a; any other name stands for itself.
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

Snapshot missing_from(const Snapshot& other, const Snapshot& devices) {
    Snapshot missing;
    std::ranges::copy_if(devices, std::back_inserter(missing),
                         [&](const Device& d) { return find(other, d) == nullptr; });
    return missing;
}

std::string slices(const Device& disk, const Snapshot& changed) {
    std::vector<std::string> names;
    for (const Device& device : changed) {
        if (is_partition_of(device, disk)) names.push_back(slice_of(device.name));
    }
    return names.empty() ? "" : fmt::format(" (slices {})", fmt::join(names, ", "));
}

std::string lines(const Snapshot& changed, std::string_view Words::*verb) {
    std::string text;
    for (const Device& device : changed) {
        const bool told = std::ranges::any_of(
            changed, [&](const Device& disk) { return is_partition_of(device, disk); });
        if (told) continue;
        const Words say = words(device.kind);
        text += fmt::format("<<{} {}: {}{}>>\n", say.noun, say.*verb, device.name,
                            slices(device, changed));
    }
    return text;
}

}  // namespace

const Device* find(const Snapshot& snapshot, const Device& device) {
    const auto found =
        std::ranges::find_if(snapshot, [&](const Device& d) { return same_kstat(d, device); });
    return found == snapshot.end() ? nullptr : &*found;
}

bool same_devices(const Snapshot& before, const Snapshot& now) {
    return std::ranges::equal(before, now, same_kstat);
}

std::string change_lines(const Snapshot& before, const Snapshot& now) {
    return lines(missing_from(now, before), &Words::went) +
           lines(missing_from(before, now), &Words::came);
}

}  // namespace blkscope::iostat
