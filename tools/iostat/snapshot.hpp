// One look at the devices: the devices that were read, the selection to show, and its order.
#pragma once

#include <sys/kstat.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/iostat/errors.hpp"
#include "tools/iostat/histograms.hpp"
#include "tools/iostat/options.hpp"

namespace blkscope::iostat {

enum class Kind { disk, partition, client, tape, nfs, path, controller };

/// One device's I/O kstat as it was read. Times are nanoseconds of CLOCK_MONOTONIC.
///
/// A Device may stand for several, as a controller for its disks. Counters and times are then sums,
/// crtime and snaptime included.
struct Device {
    std::string module;
    int instance = 0;
    std::string name;
    int provider = 0;              // its process id; 0: a kstat of this machine
    std::string at_provider = {};  // "@4711", if another process has a disk of this name
    kid_t kid = 0;                 // the kstat's number in the chain; 0: a sum of several
    Kind kind = Kind::disk;
    hrtime_t crtime = 0;
    hrtime_t snaptime = 0;
    kstat_io_t io{};
    ErrorRecords errors = {};      // empty: the device has no error kstat
    int members = 1;               // number of devices in the sum
    std::string mount_point = {};  // with -m, for a disk of this machine; else empty
    std::string device_id = {};    // with -i, for a disk of this machine; else empty
    Histograms histograms = {};    // with -w, -L or -q; empty for a sum of several
};

using Snapshot = std::vector<Device>;

/// The name among all providers: nbd0, or "nbd0@4711" if another provider has an nbd0, too. The name
/// of a client is then "nbd0@4711,client-1".
[[nodiscard]] std::string unique_name(const Device& device);

/// The name with the provider: "nbd0@4711,client-1". The name alone for a kstat of this machine.
[[nodiscard]] std::string name_at(std::string name, int provider);

/// Makes the unique name the device's name. No kstat is found by it.
void use_unique_name(Device& device);

/// Undoes unique_name(): "nbd0,client-1" of "nbd0@4711,client-1".
[[nodiscard]] std::string without_provider(std::string_view name);

/// Whether `name` means the device of this name at the provider: "nbd0", or "nbd0@4711" for the
/// process 4711. The second form is also for a device that shares its name with no other.
[[nodiscard]] bool is_name_of(std::string_view name, std::string_view device, int provider);

/// The kind of a device with a kstat of this class; none for a class that iostat ignores.
/// Controllers have no kstats.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view kstat_class);

/// The class for which kind_of() returns `kind`; "controller" for a controller.
[[nodiscard]] std::string_view class_of(Kind kind);

/// Whether the kstat has what clients did that have closed. Their counts come all at once, so they
/// have no rates.
[[nodiscard]] bool is_of_closed_clients(const Device& device);

/// Whether devices of this kind are read. Tapes and NFS mounts always are.
[[nodiscard]] bool wanted(Kind kind, const Options& options);

/// Whether both have the same name. The kstat may have been created anew: see crtime. Two providers
/// may publish one name: see find_earlier().
[[nodiscard]] bool same_name(const Device& one, const Device& other);

/// Finds the member of `earlier` that `device` continues, as an iterator. The member has the same
/// kid, or else has the same name and is not in `now` any more. With the same kid it may have another
/// unique name. `device_of` gives the Device of a member.
template <class Earlier, class DeviceOf>
[[nodiscard]] auto find_earlier(Earlier& earlier, DeviceOf device_of, const Device& device,
                                const Snapshot& now) {
    const auto is_same = [&](const auto& member) {
        const Device& one = device_of(member);
        return one.kid == device.kid && (device.kid != 0 || same_name(one, device));
    };
    const auto is_replaced = [&](const auto& member) {
        const Device& one = device_of(member);
        return same_name(one, device) && std::ranges::find(now, one.kid, &Device::kid) == now.end();
    };
    const auto same = std::ranges::find_if(earlier, is_same);
    return same != std::ranges::end(earlier) ? same : std::ranges::find_if(earlier, is_replaced);
}

/// The order of names: text as text and runs of digits as numbers. Therefore sd2 comes before sd10,
/// and sd0 before sd0,a. Names may have any form.
[[nodiscard]] std::strong_ordering compare_names(std::string_view one, std::string_view other);

/// The devices to show, in order: disks, each with its partitions, clients and paths behind it, then
/// tapes, then NFS mounts. A sum of paths has the place of the first of them. With -C the controllers
/// come first, each with its line and then its devices.
///
/// Devices that were asked for by name get places first (-l, or four in a horizontal report).
/// Others get the remaining places. If none of the names exists, no device is shown. With -X and
/// -Y a disk brings its paths, which need no places. A name with a dot asks for the paths whose
/// full names begin so.
[[nodiscard]] Snapshot select(std::vector<Device> candidates, const Options& options);

/// The names that were asked for, but that no device has.
[[nodiscard]] std::vector<std::string> missing_names(const std::vector<Device>& devices,
                                                     const Options& options);

}  // namespace blkscope::iostat
