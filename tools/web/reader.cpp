#include "tools/web/reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/run_directory.hpp"
#include "tools/iostat/host.hpp"
#include "tools/iostat/lateness.hpp"
#include "tools/program/kstats.hpp"
#include "tools/top/settings_reader.hpp"

namespace blkscope::web {
namespace {

void copy_numbers(kstat_t* ksp, std::map<std::string, uint64_t, std::less<>>& numbers) {
    if (ksp->ks_type != KSTAT_TYPE_NAMED || ksp->ks_data == nullptr) return;
    for (uint_t i = 0; i < ksp->ks_ndata; ++i) {
        const kstat_named_t& record = KSTAT_NAMED_PTR(ksp)[i];
        if (record.data_type != KSTAT_DATA_UINT64) continue;
        numbers[program::field_text(record.name)] = record.value.ui64;
    }
}

// Whether a scrape has the histogram. All have those of reads and writes. Without a count of an
// operation's requests, it is read, too.
bool is_scraped(const DeviceLook& look, std::string_view name) {
    if (name == iostat::lateness_name) return true;  // only with a model
    constexpr std::array phases{"_wait", "_service", "_total"};
    const auto tail =
        std::ranges::find_if(phases, [&](std::string_view phase) { return name.ends_with(phase); });
    if (tail == phases.end()) return false;
    const std::string operation(name.substr(0, name.size() - std::string_view(*tail).size()));
    if (operation == "read" || operation == "write") return true;
    const auto requests = look.commands.find(operation + "_requests");
    return requests == look.commands.end() || requests->second > 0;
}

bool has_failures(const DeviceLook& look) {
    return std::ranges::any_of(look.commands, [](const auto& record) {
        return record.first.ends_with("_errors") && record.second > 0;
    });
}

std::vector<int> socket_pids() {
    std::vector<int> pids;
    std::error_code none;
    for (const std::string& path : reader_directories()) {
        for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
            if (const auto pid = pid_of_socket(entry.path().filename().string())) {
                pids.push_back(*pid);
            }
        }
    }
    return pids;
}

// Whether the first kstat of the provider can be read. A provider that is known to be silent is not
// waited for.
bool answers(kstat_ctl_t* chain, int pid) {
    for (kstat_t* ksp = chain == nullptr ? nullptr : chain->kc_chain; ksp != nullptr;
         ksp = ksp->ks_next) {
        if (program::provider_of(*ksp) != pid) continue;
        return kstat_read(chain, ksp, nullptr) != -1;
    }
    return false;
}

}  // namespace

Reader::Reader() : devices_(iostat::all_of_devices()) {}

Look Reader::look(bool all_histograms) {
    Look look{.time = gethrtime(), .devices = {}};
    histograms_.begin();
    std::vector<iostat::Device> devices = devices_.read();
    unread_ = devices_.unread();
    index_.follow(devices_.chain());
    look.devices.reserve(devices.size());
    for (iostat::Device& device : devices) {
        DeviceLook one{.device = std::move(device)};
        one.is_of_host = iostat::is_host_device(one.device);
        if (!one.is_of_host) read_beside(one);
        look.devices.push_back(std::move(one));
    }
    forget_others(look.devices);
    read_histograms(look.devices, all_histograms);
    look.providers = read_providers(look.devices);
    for (DeviceLook& one : look.devices) iostat::use_unique_name(one.device);
    return look;
}

// A histogram is several kilobytes and a question to the provider. Most devices do few of the
// operations.
void Reader::read_histograms(std::vector<DeviceLook>& looks, bool all) {
    std::vector<iostat::Device> devices;
    devices.reserve(looks.size());
    for (DeviceLook& look : looks) devices.push_back(std::move(look.device));
    histograms_.read_into(devices, [&](const iostat::Device& device, std::string_view name) {
        return all || is_scraped(looks[static_cast<size_t>(&device - devices.data())], name);
    });
    for (size_t i = 0; i < looks.size(); ++i) looks[i].device = std::move(devices[i]);
}

// The providers with kstats in the chain, and those that only have a socket.
std::vector<ProviderLook> Reader::read_providers(const std::vector<DeviceLook>& looks) {
    std::map<int, bool> up;
    for (const int pid : socket_pids()) up.try_emplace(pid, false);
    std::set<kid_t> read;
    for (const DeviceLook& look : looks) read.insert(look.device.kid);
    kstat_ctl_t* const chain = devices_.chain();
    for (kstat_t* ksp = chain == nullptr ? nullptr : chain->kc_chain; ksp != nullptr;
         ksp = ksp->ks_next) {
        const int pid = program::provider_of(*ksp);
        if (pid <= 0) continue;
        bool& is_up = up.try_emplace(pid, false).first->second;
        is_up = is_up || read.contains(ksp->ks_kid);
    }
    for (auto& [pid, is_up] : up) {
        if (!is_up) is_up = answers(chain, pid);
    }
    std::vector<ProviderLook> providers;
    providers.reserve(up.size());
    for (const auto& [pid, is_up] : up) providers.push_back({.pid = pid, .is_up = is_up});
    return providers;
}

// The kstats beside an IO kstat: of a client its identity, of a disk the rest.
void Reader::read_beside(DeviceLook& look) {
    const iostat::Device& device = look.device;
    if (device.kind == iostat::Kind::client) {
        const Identity& identity = identity_of(device);
        look.program = identity.program;
        look.peer = identity.peer;
    } else if (device.kind == iostat::Kind::disk) {
        if (kstat_t* ksp = read_beside(device, "cmds")) copy_numbers(ksp, look.commands);
        const auto geometry = top::geometry_of(read_beside(device, "geometry"));
        if (geometry) look.queue_depth = geometry->queue_depth;
        if (has_failures(look)) {
            if (kstat_t* ksp = read_beside(device, "errno")) copy_numbers(ksp, look.errnos);
        }
        look.settings = top::read_settings([&](const char* what) -> kstat_t* {
            // Each device has this one, and it never changes.
            if (std::string_view(what) == "export") return nullptr;
            return read_beside(device, what);
        });
        look.settings.source = source_of(device);
    }
}

std::optional<top::Source> Reader::source_of(const iostat::Device& device) {
    const auto known = sources_.find(device.kid);
    if (known != sources_.end()) return known->second;
    kstat_t* const exp = read_beside(device, "export");
    if (exp == nullptr) return {};  // of another program's device
    return sources_.emplace(device.kid, top::source_of(exp)).first->second;
}

// Neither text ever changes, and a number of a kstat is never used again.
const Reader::Identity& Reader::identity_of(const iostat::Device& device) {
    const auto [found, is_new] = identities_.try_emplace(device.kid);
    if (!is_new && !found->second.peer.empty()) return found->second;
    kstat_t* const info = read_beside(device, "info");
    if (info == nullptr) return found->second;
    found->second = {.program = program::text_record(info, "program").value_or(""),
                     .peer = program::text_record(info, "peer").value_or("")};
    return found->second;
}

// Forgets the clients and disks that this look does not have.
void Reader::forget_others(const std::vector<DeviceLook>& looks) {
    std::set<kid_t> here;
    for (const DeviceLook& look : looks) here.insert(look.device.kid);
    const auto is_gone = [&](const auto& one) { return !here.contains(one.first); };
    std::erase_if(identities_, is_gone);
    std::erase_if(sources_, is_gone);
}

kstat_t* Reader::read_beside(const iostat::Device& device, const char* what) {
    kstat_t* const ksp =
        index_.find(device.provider, device.module, device.instance, device.name + "," + what);
    if (ksp == nullptr) return nullptr;
    if (kstat_read(devices_.chain(), ksp, nullptr) != -1) return ksp;
    if (errno != ENXIO) unread_.insert(device.name + "," + what);
    return nullptr;
}

}  // namespace blkscope::web
