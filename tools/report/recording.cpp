#include "tools/report/recording.hpp"

#include <algorithm>

namespace blkscope::report {
namespace {

// Charts have the phases of reads and writes. Comparisons have the totals of each operation.
bool is_kept(std::string_view histogram) {
    if (histogram.ends_with("_total")) return true;
    const bool is_of_transfers = histogram.starts_with("read_") || histogram.starts_with("write_");
    return is_of_transfers && (histogram.ends_with("_wait") || histogram.ends_with("_service"));
}

}  // namespace

void Recording::add(web::Look look) {
    keep_names(look);
    for (web::DeviceLook& one : last.devices) {
        std::string name = one.device.name;
        if (!one.is_of_host) left.insert_or_assign(std::move(name), std::move(one));
    }
    iostat::Snapshot devices;
    for (const web::DeviceLook& one : look.devices) {
        if (one.is_of_host) continue;
        note_life(one);
        if (one.device.kind == iostat::Kind::client) {
            web::DeviceLook& client = clients[one.device.name] = one;
            client.device.histograms.clear();
        }
        devices.push_back(one.device);
        std::erase_if(devices.back().histograms,
                      [](const auto& member) { return !is_kept(member.first); });
    }
    summary.add(devices);
    if (looks.empty()) first = look;
    last = std::move(look);
    looks.push_back(std::move(devices));
    const size_t devices_now = std::max<size_t>(looks.back().size(), 1);
    if (looks.size() < std::clamp(device_looks_max / devices_now, looks_min, looks_max)) return;
    size_t kept = 0;
    for (size_t i = 0; i < looks.size(); i += 2) looks[kept++] = std::move(looks[i]);
    looks.resize(kept);
    every *= 2;
}

std::vector<web::DeviceLook> Recording::devices_at_end() const {
    std::vector<web::DeviceLook> devices = last.devices;
    for (const auto& [name, look] : left) devices.push_back(look);
    return devices;
}

// A device that is there again after a pause of its provider has its old time of creation.
void Recording::note_life(const web::DeviceLook& now) {
    const auto before = left.find(now.device.name);
    if (before == left.end()) return;
    if (before->second.device.crtime != now.device.crtime) {
        ended.try_emplace(now.device.name, std::move(before->second));
    }
    left.erase(before);
}

// A client that comes later has the name of its disk, too.
void Recording::keep_names(web::Look& look) {
    for (web::DeviceLook& one : look.devices) {
        if (one.is_of_host) continue;
        const int provider = one.device.provider;
        const std::string disk = one.disk();
        std::string own = disk;
        const std::string at_provider = "@" + std::to_string(provider);
        if (own.ends_with(at_provider)) own.resize(own.size() - at_provider.size());
        const auto kept = names_.try_emplace({provider, std::move(own)}, disk).first;
        one.device.name.replace(0, disk.size(), kept->second);
    }
}

}  // namespace blkscope::report
