#include "tools/stats/reader.hpp"

#include <algorithm>
#include <utility>

#include "base/throw_errno.hpp"
#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/snapshot.hpp"
#include "tools/program/kstats.hpp"

namespace blkscope::stats_command {
namespace {

using program::field_text;

constexpr std::string_view stats_module = "stats";

bool is_wanted(const kstat_t& ksp, const std::vector<std::string>& names) {
    if (ksp.ks_type != KSTAT_TYPE_RAW || field_text(ksp.ks_module) != stats_module) return false;
    const auto is_name = [&, provider = program::provider_of(ksp)](const std::string& name) {
        return iostat::is_name_of(name, field_text(ksp.ks_name), provider);
    };
    return names.empty() || std::ranges::any_of(names, is_name);
}

Device device_of(const kstat_t& ksp) {
    Device device{.name = field_text(ksp.ks_name),
                  .provider = program::provider_of(ksp),
                  .instance = ksp.ks_instance,
                  .snaptime = ksp.ks_snaptime};
    auto blob = read_blob(
        {static_cast<const std::byte*>(ksp.ks_data), static_cast<size_t>(ksp.ks_data_size)});
    if (blob) {
        device.variables = std::move(*blob);
    } else {
        device.trouble = blob.error();
    }
    return device;
}

// For nbd0, nbd: the module of the device's other kstats.
std::string module_of(const std::string& name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

void read_histograms(std::vector<Device>& devices) {
    std::vector<iostat::Device> readings;
    for (const Device& device : devices) {
        iostat::Device& reading = readings.emplace_back();
        reading.module = module_of(device.name);
        reading.instance = device.instance;
        reading.name = device.name;
    }
    iostat::HistogramReader().read_into(readings);
    for (size_t i = 0; i < devices.size(); ++i) {
        devices[i].histograms = std::move(readings[i].histograms);
    }
}

}  // namespace

std::vector<Device> read_devices(const std::vector<std::string>& names) {
    const program::Chain chain(kstat_open());
    if (!chain) throw_errno("stats: read kstats");
    std::vector<Device> devices;
    for (kstat_t* ksp = chain->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (!is_wanted(*ksp, names) || kstat_read(chain.get(), ksp, nullptr) < 0) continue;
        devices.push_back(device_of(*ksp));
    }
    std::ranges::sort(devices, [](const Device& one, const Device& other) {
        return iostat::compare_names(one.name, other.name) < 0;
    });
    read_histograms(devices);
    return devices;
}

}  // namespace blkscope::stats_command
