#include "tools/iostat/freebsd/devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <utility>

#include "devstat/entries/busy_time.hpp"
#include "tools/program/kstats.hpp"

namespace blkscope::iostat::freebsd {
namespace {

int checked(int result) {
    if (result < 0) throw std::runtime_error(devstat_errbuf);
    return result;
}

std::span<Devstat> devices_of(const devinfo& info) {
    return {info.devices, static_cast<size_t>(info.numdevs)};
}

}  // namespace

Devices::Devices(const Options& options) : options_(options), names_(options.drives) {
    for (std::string& name : names_) drives_.push_back(name.data());
    for (std::string match : options.matches) {
        if (devstat_buildmatch(match.data(), &matches_, &num_matches_) == 0) continue;
        std::free(matches_);  // may be allocated, and the destructor will not run
        throw std::runtime_error(devstat_errbuf);
    }
}

Devices::~Devices() {
    std::free(matches_);
    std::free(selection_);
    std::free(now_.info.mem_ptr);
    std::free(before_.info.mem_ptr);
}

bool Devices::look() {
    std::swap(now_.info, before_.info);
    std::swap(now_.stats.snap_time, before_.stats.snap_time);
    now_.info.generation = before_.info.generation;  // a change is one since the last look
    const bool others = checked(devstat_getdevs(nullptr, &now_.stats)) == 1;
    const auto uptime_ns = static_cast<hrtime_t>(now_.stats.snap_time * 1e9L);
    for (Devstat& device : devices_of(now_.info)) devstat::charge_busy_time(device, uptime_ns);
    if (!others && !options_.busiest_first) return false;
    if (options_.busiest_first) count_bytes();
    return select();
}

bool Devices::select() {
    const bool by_wish = !options_.drives.empty() || !options_.matches.empty();
    return checked(devstat_selectdevs(
               &selection_, &selected_, &selections_, &generation_, now_.info.generation,
               now_.info.devices, now_.info.numdevs, matches_, num_matches_, drives_.data(),
               static_cast<int>(drives_.size()), by_wish ? DS_SELECT_ONLY : DS_SELECT_ADD,
               options_.devices_max, options_.busiest_first ? 1 : 0)) == 1;
}

// Sets the bytes of the interval, from which libdevstat finds the busiest devices.
void Devices::count_bytes() {
    for (device_selection& entry : std::span(selection_, static_cast<size_t>(selections_))) {
        for (Devstat& device : devices_of(now_.info)) {
            if (device.device_number != entry.device_number) continue;
            checked(devstat_compute_statistics(&device,
                                               const_cast<Devstat*>(earlier(device.device_number)),
                                               1.0L, DSM_TOTAL_BYTES, &entry.bytes, DSM_NONE));
        }
    }
}

const Devstat* Devices::earlier(uint32_t device_number) const {
    for (const Devstat& device : devices_of(before_.info)) {
        if (device.device_number == device_number) return &device;
    }
    return nullptr;
}

std::vector<Shown> Devices::shown() const {
    std::vector<Shown> shown;
    for (const device_selection& entry : std::span(selection_, static_cast<size_t>(selections_))) {
        if (entry.selected == 0 || entry.selected > options_.devices_max) continue;
        Shown device;
        device.now = devices_of(now_.info)[static_cast<size_t>(entry.position)];
        device.name = entry.device_name + std::to_string(entry.unit_number);
        long double since = devstat_compute_etime(&device.now.creation_time, nullptr);
        if (const Devstat* before = earlier(entry.device_number)) {
            device.before = *before;
            since = before_.stats.snap_time;
        }
        device.elapsed_s = static_cast<double>(now_.stats.snap_time - since);
        shown.push_back(std::move(device));
    }
    return shown;
}

std::vector<std::string> Devices::missing() const {
    std::vector<std::string> missing;
    for (const std::string& drive : options_.drives) {
        const bool found = std::ranges::any_of(devices_of(now_.info), [&](const Devstat& device) {
            return program::field_text(device.device_name) + std::to_string(device.unit_number) ==
                   drive;
        });
        if (!found) missing.push_back(drive);
    }
    return missing;
}

}  // namespace blkscope::iostat::freebsd
