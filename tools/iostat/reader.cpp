#include "tools/iostat/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/run_directory.hpp"
#include "base/throw_errno.hpp"
#include "tools/iostat/host.hpp"
#include "tools/program/no_providers.hpp"

namespace blkscope::iostat {
namespace {

using program::field_text;

Device device_of(const kstat_t* ksp, Kind kind) {
    return Device{.module = field_text(ksp->ks_module),
                  .instance = ksp->ks_instance,
                  .name = field_text(ksp->ks_name),
                  .provider = program::provider_of(*ksp),
                  .kid = ksp->ks_kid,
                  .kind = kind,
                  .crtime = ksp->ks_crtime,
                  .snaptime = ksp->ks_snaptime,
                  .io = *static_cast<const kstat_io_t*>(ksp->ks_data)};
}

// Disks of one name, and all that belongs to them, get their providers' numbers. Providers of one run
// directory share no disk's name, those of different directories may.
void tell_apart(std::vector<Device>& devices) {
    const auto disk_of = [](const Device& device) {
        return std::tuple(device.module, device.instance,
                          device.name.substr(0, device.name.find(',')));
    };
    std::map<std::tuple<std::string, int, std::string>, std::set<int>> providers;
    for (const Device& device : devices) providers[disk_of(device)].insert(device.provider);
    for (Device& device : devices) {
        if (device.provider == 0 || providers.at(disk_of(device)).size() < 2) continue;
        device.at_provider = fmt::format("@{}", device.provider);
    }
}

// The records of a NAMED kstat that was read; null if it cannot be read.
const kstat_named_t* read_records(kstat_ctl_t* kc, kstat_t* ksp) {
    if (kstat_read(kc, ksp, nullptr) == -1 || ksp->ks_data == nullptr) return nullptr;
    if (ksp->ks_data_size / sizeof(kstat_named_t) < ksp->ks_ndata) return nullptr;
    return KSTAT_NAMED_PTR(ksp);
}

// The number of that name; 0 if the record is missing or of another type.
uint64_t number(kstat_t* ksp, const char* name) {
    const auto* record = static_cast<const kstat_named_t*>(kstat_data_lookup(ksp, name));
    if (record == nullptr) return 0;
    if (record->data_type == KSTAT_DATA_UINT64) return record->value.ui64;
    return record->data_type == KSTAT_DATA_UINT32 ? record->value.ui32 : 0;
}

Processor copy_processor(kstat_t* ksp) {
    return {.id = ksp->ks_instance,
            .snaptime = ksp->ks_snaptime,
            .idle_ticks = number(ksp, "cpu_ticks_idle"),
            .user_ticks = number(ksp, "cpu_ticks_user"),
            .kernel_ticks = number(ksp, "cpu_ticks_kernel"),
            .wait_ticks = number(ksp, "cpu_ticks_wait"),
            .dtrace_ns = number(ksp, "cpu_nsec_dtrace"),
            .characters_in = number(ksp, "rawch"),
            .characters_out = number(ksp, "outch")};
}

}  // namespace

// False if there is no chain yet.
bool Reader::refresh() {
    if (!kc_) {
        kc_.reset(kstat_open());
        if (!kc_) {
            if (errno == ENOENT) return false;  // no provider was ever started on this machine
            throw_errno("cannot open the kstats");
        }
    }
    const auto result = program::update(kc_.get());
    if (result == program::Update::failed) throw_errno("cannot update the kstats");
    is_partial_ = result == program::Update::partial;
    return true;
}

Options all_of_devices() {
    Options options;
    options.mode = Mode::extended;
    options.partitions = true;
    options.clients = true;
    options.errors = true;
    return options;
}

// Nothing if the kstat was removed, or cannot be read.
std::optional<Device> Reader::read_device(kstat_t* ksp, Kind kind) {
    const bool is_read = kstat_read(kc_.get(), ksp, nullptr) != -1;
    if (!is_read && errno == ENXIO) return {};
    if (!is_read || ksp->ks_data == nullptr || ksp->ks_data_size < sizeof(kstat_io_t)) {
        unread_.insert(field_text(ksp->ks_name));
        return {};
    }
    return device_of(ksp, kind);
}

std::vector<Device> Reader::read() {
    std::vector<Device> devices;
    unread_.clear();
    if (!refresh()) return devices;
    for (kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_type != KSTAT_TYPE_IO) continue;
        const std::optional<Kind> kind = kind_of(field_text(ksp->ks_class));
        if (!kind || !wanted(*kind, options_)) continue;
        auto device = read_device(ksp, *kind);
        if (!device || is_of_closed_clients(*device)) continue;
        devices.push_back(std::move(*device));
    }
    tell_apart(devices);
    if (options_.errors_wanted()) read_errors(devices);
    if (options_.mount_points || options_.device_ids) ask_host(devices);
    return devices;
}

// The name of the device is the error kstat's name, up to its first comma.
void Reader::read_errors(std::vector<Device>& devices) {
    std::map<std::pair<int, std::string>, Device*> by_name;
    for (Device& device : devices) by_name.try_emplace({device.provider, device.name}, &device);
    for (kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_type != KSTAT_TYPE_NAMED || !counts_errors(field_text(ksp->ks_class))) continue;
        const std::string name = field_text(ksp->ks_name);
        const auto found =
            by_name.find({program::provider_of(*ksp), name.substr(0, name.find(','))});
        if (found == by_name.end()) continue;
        errno = 0;  // records of a wrong form leave none
        const kstat_named_t* records = read_records(kc_.get(), ksp);
        if (records != nullptr) {
            found->second->errors = copy_errors(records, ksp->ks_ndata);
        } else if (errno != ENXIO) {
            unread_.insert(name);
        }
    }
}

void Reader::ask_host(std::vector<Device>& devices) const {
    std::map<std::string, std::string> places;
    if (options_.mount_points) {
        std::ifstream mounts("/proc/self/mounts");
        places = read_mounts(mounts);
    }
    for (Device& device : devices) {
        if (!is_host_device(device)) continue;
        const auto place = places.find(device.name);
        if (place != places.end()) device.mount_point = place->second;
        if (options_.device_ids) device.device_id = host_device_id(device.name);
    }
}

bool Reader::is_on_line(int processor) {
    for (kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_type != KSTAT_TYPE_NAMED || ksp->ks_instance != processor) continue;
        if (field_text(ksp->ks_module) != "cpu_info") continue;
        if (read_records(kc_.get(), ksp) == nullptr) continue;
        const auto* state = static_cast<const kstat_named_t*>(kstat_data_lookup(ksp, "state"));
        if (state == nullptr || state->data_type != KSTAT_DATA_CHAR) continue;
        // A processor that takes no interrupts runs programs all the same.
        return field_text(state->value.c) == "on-line" || field_text(state->value.c) == "no-intr";
    }
    return true;
}

Processors Reader::read_processors() {
    Processors processors;
    if (!kc_) return processors;
    for (kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_type != KSTAT_TYPE_NAMED || field_text(ksp->ks_module) != "cpu") continue;
        if (field_text(ksp->ks_name) != "sys" || !is_on_line(ksp->ks_instance)) continue;
        if (read_records(kc_.get(), ksp) != nullptr) processors.push_back(copy_processor(ksp));
    }
    std::ranges::sort(processors, {}, &Processor::id);
    return processors;
}

bool Reader::any_device() const {
    if (!kc_) return false;
    for (const kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_type == KSTAT_TYPE_IO && kind_of(field_text(ksp->ks_class))) return true;
    }
    return false;
}

bool Reader::any_provider() const {
    if (!kc_) return false;
    for (const kstat_t* ksp = kc_->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (program::provider_of(*ksp) != 0) return true;
    }
    return false;
}

kstat_t* read_beside(kstat_ctl_t* chain, const Device& device, const std::string& what) {
    return program::read_kstat(chain, device.provider, device.module, device.instance,
                               device.name + "," + what);
}

std::string client_text(kstat_t* info) {
    const std::string name = program::text_record(info, "program").value_or("");
    const std::string peer = program::text_record(info, "peer").value_or("");
    return name.empty() || peer.empty() ? name + peer : fmt::format("{} ({})", name, peer);
}

std::string run_directory() {
    return blkscope::run_directory();
}

std::string no_devices_text(const std::vector<std::string>& names) {
    const std::string place = run_directory();
    if (names.empty()) return program::no_devices_text();
    return fmt::format("no device named {} in {}; 'blkscope list' shows those that are served",
                       fmt::join(names, " or "), place);
}

}  // namespace blkscope::iostat
