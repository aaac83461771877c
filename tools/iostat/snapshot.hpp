// One look at the devices: what was read, which of it is shown, and in what order.
#pragma once

#include <sys/kstat.h>

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/iostat/errors.hpp"
#include "tools/iostat/histograms.hpp"
#include "tools/iostat/options.hpp"

namespace blkscope::iostat {

enum class Kind { disk, partition, tape, nfs, path, controller };

/// One device's I/O kstat as it was read. Times are nanoseconds of CLOCK_MONOTONIC.
///
/// It may stand for several: a controller for its disks. Then counters and times, crtime and
/// snaptime among them, are sums.
struct Device {
    std::string module;
    int instance = 0;
    std::string name;
    Kind kind = Kind::disk;
    hrtime_t crtime = 0;
    hrtime_t snaptime = 0;
    kstat_io_t io{};
    ErrorRecords errors;      // empty: it has no error kstat
    int members = 1;          // devices that were summed up
    std::string mount_point;  // with -m, of a disk of this machine; else empty
    std::string device_id;    // with -i, the same
    Histograms histograms;    // with -w, -L or -q; empty for one that stands for several
};

using Snapshot = std::vector<Device>;

/// The kind of a device whose kstat is of this class; none for a class that iostat ignores.
/// Controllers have no kstats.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view kstat_class);

/// The class that kind_of() knows a kind by; "controller" for a controller.
[[nodiscard]] std::string_view class_of(Kind kind);

/// Whether devices of this kind are looked at. Tapes and NFS mounts always are.
[[nodiscard]] bool wanted(Kind kind, const Options& options);

/// Whether both are looks at one kstat. Not at one life of it: that takes crtime too.
[[nodiscard]] bool same_kstat(const Device& one, const Device& other);

/// The order of names: text as text and runs of digits as numbers, so sd2 comes before sd10 and
/// sd0 before sd0,a. Any name will do.
[[nodiscard]] std::strong_ordering compare_names(std::string_view one, std::string_view other);

/// The devices to show, in the order to show them: disks among their partitions, then tapes, then
/// NFS mounts, then paths. With -C those of a controller stand behind its line, and first of all.
///
/// Devices asked for by name have the first claim on the places there are (-l, or four in a
/// horizontal report); others fill what is left. If none of the names exists, nothing is shown.
[[nodiscard]] Snapshot select(std::vector<Device> candidates, const Options& options);

/// The names that were asked for and that none of the devices has.
[[nodiscard]] std::vector<std::string> missing_names(const std::vector<Device>& devices,
                                                     const Options& options);

}  // namespace blkscope::iostat
