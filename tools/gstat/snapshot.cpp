#include "tools/gstat/snapshot.hpp"

#include <algorithm>

#include "devstat/entries/bintime.hpp"
#include "devstat/entries/busy_time.hpp"

namespace blkscope::gstat {

double seconds_between(const Snapshot& before, const Snapshot& now) {
    return static_cast<double>(now.uptime - before.uptime) / 1e9;
}

const Device* find(const Snapshot& before, const Device& device) {
    const auto at = std::ranges::find(before.devices, device.identity, &Device::identity);
    return at == before.devices.end() ? nullptr : &*at;
}

double seconds_covered(const Snapshot& before, const Snapshot& now, const Device& device) {
    const double interval = seconds_between(before, now);
    if (find(before, device) != nullptr) return interval;
    const auto life_ns = now.uptime - devstat::ns_of(device.entry.creation_time);
    return std::max(interval, static_cast<double>(life_ns) / 1e9);
}

void put_partitions_in_place(std::vector<Device>& devices) {
    std::vector<Device> ordered;
    for (const Device& device : devices) {
        if (device.is_partition) continue;
        ordered.push_back(device);
        std::ranges::copy_if(devices, std::back_inserter(ordered), [&](const Device& other) {
            return other.is_partition && other.name.starts_with(device.name + ",");
        });
    }
    // The rest: an entry without a name that is no partition of a known device.
    std::ranges::copy_if(devices, std::back_inserter(ordered), [&](const Device& device) {
        return std::ranges::find(ordered, device.identity, &Device::identity) == ordered.end();
    });
    devices = std::move(ordered);
}

Snapshot SnapshotReader::take() {
    reader_.update();
    // A device that was added since update() is in the next snapshot. Of a device that was removed
    // since, this snapshot has the last entry.
    static_cast<void>(reader_.read());
    Snapshot snapshot;
    clock_gettime(CLOCK_REALTIME, &snapshot.when);
    snapshot.uptime = gethrtime();
    for (const devstat::Reader::Known& known : reader_.entries()) {
        Device device{known.kid, known.name, known.anonymous(), known.entry};
        devstat::charge_busy_time(device.entry, known.kstat->ks_snaptime);
        snapshot.devices.push_back(device);
    }
    put_partitions_in_place(snapshot.devices);
    return snapshot;
}

}  // namespace blkscope::gstat
