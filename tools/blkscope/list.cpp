#include "tools/blkscope/list.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
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

std::string clients(kstat_ctl_t* chain, int instance) {
    const std::string name = fmt::format("nbd{},cmds", instance);
    kstat_t* cmds = kstat_lookup(chain, "nbd", instance, name.c_str());
    if (cmds == nullptr || kstat_read(chain, cmds, nullptr) < 0) return "-";
    const auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(cmds, "connections"));
    return named == nullptr ? "-" : std::to_string(named->value.ui64);
}

bool is_export(const kstat_t& ksp) {
    return std::strcmp(ksp.ks_module, "nbd") == 0 &&
           std::strcmp(ksp.ks_name, fmt::format("nbd{},export", ksp.ks_instance).c_str()) == 0;
}

void list_exports(kstat_ctl_t* chain) {
    fmt::print("{:<8} {:>7}  {:<24} {}\n", "device", "clients", "backing", "uri");
    for (kstat_t* ksp = chain->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (!is_export(*ksp) || kstat_read(chain, ksp, nullptr) < 0) continue;
        fmt::print("{:<8} {:>7}  {:<24} {}\n", fmt::format("nbd{}", ksp->ks_instance),
                   clients(chain, ksp->ks_instance), text(ksp, "backing"), text(ksp, "uri"));
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

void list() {
    const program::Chain chain(kstat_open());
    if (!chain) throw std::system_error(errno, std::generic_category(), "list: read kstats");
    list_exports(chain.get());
    list_attached();
}

}  // namespace blkscope
