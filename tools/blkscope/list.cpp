#include "tools/blkscope/list.hpp"

#include <blkscope/geometry.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "driver/attach/attach.hpp"
#include "tools/program/kstats.hpp"

namespace blkscope {
namespace {

// The text of a STRING record; "-" if there is none.
std::string text(kstat_t* ksp, const char* record) {
    const auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record));
    if (named == nullptr || named->data_type != KSTAT_DATA_STRING) return "-";
    const char* string = KSTAT_NAMED_STR_PTR(named);
    return string == nullptr ? "-" : string;
}

// A kstat of the device, read; null if the device has none of that name.
kstat_t* read_beside(kstat_ctl_t* chain, int instance, const char* what) {
    const std::string name = fmt::format("nbd{},{}", instance, what);
    kstat_t* ksp = kstat_lookup(chain, "nbd", instance, name.c_str());
    return ksp == nullptr || kstat_read(chain, ksp, nullptr) < 0 ? nullptr : ksp;
}

std::optional<uint64_t> number(kstat_t* ksp, const std::string& record) {
    const auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record.c_str()));
    if (named == nullptr || named->data_type != KSTAT_DATA_UINT64) return {};
    return named->value.ui64;
}

std::string clients(kstat_ctl_t* chain, int instance) {
    kstat_t* cmds = read_beside(chain, instance, "cmds");
    const auto connections = cmds == nullptr ? std::nullopt : number(cmds, "connections");
    return connections ? std::to_string(*connections) : "-";
}

void print_detail(const std::string& detail) {
    fmt::print("{:<8} {}\n", "", detail);
}

void list_faults(kstat_t* faults) {
    constexpr std::string_view lead = "rule_";
    for (uint_t i = 0; i < faults->ks_ndata; ++i) {
        const std::string record = program::field_text(KSTAT_NAMED_PTR(faults)[i].name);
        if (!record.starts_with(lead)) continue;
        const std::string id = record.substr(lead.size());
        print_detail(fmt::format("fault {}: {}, hits {}", id, text(faults, record.c_str()),
                                 number(faults, "hits_" + id).value_or(0)));
    }
}

// Lines about depth, model, limits, faults and crash cache, as far as the device has them.
void list_behaviour(kstat_ctl_t* chain, int instance) {
    if (const kstat_t* geometry = read_beside(chain, instance, "geometry")) {
        blkscope_geometry_t sizes{};
        if (geometry->ks_data_size >= sizeof sizes) {
            std::memcpy(&sizes, geometry->ks_data, sizeof sizes);
            print_detail(fmt::format("depth {}", sizes.queue_depth));
        }
    }
    if (kstat_t* model = read_beside(chain, instance, "model")) {
        print_detail(fmt::format("model {}, seed {}", text(model, "spec"),
                                 number(model, "seed").value_or(0)));
    }
    if (kstat_t* limits = read_beside(chain, instance, "limits")) {
        print_detail(fmt::format("limit {}", text(limits, "spec")));
    }
    if (kstat_t* limits = read_beside(chain, instance, "client-limits")) {
        print_detail(fmt::format("client-limit {}", text(limits, "spec")));
    }
    if (kstat_t* faults = read_beside(chain, instance, "faults")) list_faults(faults);
    kstat_t* exp = read_beside(chain, instance, "export");
    if (exp != nullptr && kstat_data_lookup(exp, "crash_cache") != nullptr) {
        print_detail("crash-cache " + text(exp, "crash_cache"));
    }
}

bool is_export(const kstat_t& ksp) {
    return std::strcmp(ksp.ks_module, "nbd") == 0 &&
           std::strcmp(ksp.ks_name, fmt::format("nbd{},export", ksp.ks_instance).c_str()) == 0;
}

void list_exports(kstat_ctl_t* chain, bool verbose) {
    fmt::print("{:<8} {:>7}  {:<24} {}\n", "device", "clients", "backing", "uri");
    for (kstat_t* ksp = chain->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (!is_export(*ksp) || kstat_read(chain, ksp, nullptr) < 0) continue;
        fmt::print("{:<8} {:>7}  {:<24} {}\n", fmt::format("nbd{}", ksp->ks_instance),
                   clients(chain, ksp->ks_instance), text(ksp, "backing"), text(ksp, "uri"));
        if (verbose) list_behaviour(chain, ksp->ks_instance);
    }
}

void list_attached() {
    const auto devices = attached_devices();
    if (devices.empty()) return;
    fmt::print("\n{:<12} {:>16}\n", "attached", "bytes");
    for (const AttachedDevice& device : devices) {
        fmt::print("{:<12} {:>16}{}\n", device.device, device.size_bytes,
                   device.read_only ? "  read-only" : "");
    }
}

}  // namespace

void list(bool verbose) {
    const program::Chain chain(kstat_open());
    if (!chain) throw std::system_error(errno, std::generic_category(), "list: read kstats");
    list_exports(chain.get(), verbose);
    list_attached();
}

}  // namespace blkscope
