#include "tools/top/reader.hpp"

#include <algorithm>
#include <utility>

#include "tools/iostat/host.hpp"
#include "tools/program/kstats.hpp"
#include "tools/top/latencies.hpp"
#include "tools/top/model.hpp"
#include "tools/top/settings_reader.hpp"

namespace blkscope::top {
namespace {

iostat::Options reader_options(const std::vector<std::string>& names, bool clients) {
    iostat::Options options = column_options();
    options.clients = clients;
    options.partitions = !names.empty();  // only if the user names devices
    return options;
}

}  // namespace

Reader::Reader(std::vector<std::string> names, bool clients)
    : names_(std::move(names)), devices_(reader_options(names_, clients)) {}

Look Reader::look() {
    Look look;
    histograms_.begin();
    std::vector<iostat::Device> devices = devices_.read();
    std::erase_if(devices, [&](const iostat::Device& device) { return !is_wanted(device); });
    histograms_.read_into(devices);
    for (iostat::Device& device : devices) {
        DeviceLook one;
        one.latencies = latencies_of(std::exchange(device.histograms, {}), bounds_);
        one.device = std::move(device);
        if (one.device.kind == iostat::Kind::client) {
            read_identity(one);
        } else {
            read_geometry(one);
            read_clients(one);
            one.settings =
                read_settings([&](const char* what) { return read_beside(one.device, what); });
        }
        look.devices.push_back(std::move(one));
    }
    look.time = gethrtime();
    return look;
}

bool Reader::is_wanted(const iostat::Device& device) const {
    const bool is_client = device.kind == iostat::Kind::client;
    if (names_.empty()) {
        return is_client || (device.kind == iostat::Kind::disk && !iostat::is_host_device(device));
    }
    const std::string own = is_client ? device.name.substr(0, device.name.find(',')) : device.name;
    return std::ranges::any_of(names_, [&](const std::string& name) {
        return iostat::is_name_of(name, own, device.provider);
    });
}

kstat_t* Reader::read_beside(const iostat::Device& device, const char* what) {
    return iostat::read_beside(devices_.chain(), device, what);
}

void Reader::read_geometry(DeviceLook& look) {
    const auto geometry = geometry_of(read_beside(look.device, "geometry"));
    if (!geometry) return;
    look.size_bytes = geometry->size_bytes;
    look.block_bytes = geometry->sector_bytes;
    look.queue_depth = geometry->queue_depth;
}

void Reader::read_clients(DeviceLook& look) {
    kstat_t* ksp = read_beside(look.device, "cmds");
    if (ksp != nullptr) look.clients = program::number_record(ksp, "connections");
}

void Reader::read_identity(DeviceLook& look) {
    kstat_t* ksp = read_beside(look.device, "info");
    if (ksp == nullptr) return;
    look.who = iostat::client_text(ksp);
}

}  // namespace blkscope::top
