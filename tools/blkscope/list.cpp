#include "tools/blkscope/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log_line.hpp"
#include "base/throw_errno.hpp"
#include "driver/attach/attach.hpp"
#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/lateness.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/program/json.hpp"
#include "tools/program/kstats.hpp"
#include "tools/top/settings_reader.hpp"

namespace blkscope {
namespace {

// The text of a STRING record; "-" if there is none.
std::string text(kstat_t* ksp, const char* record) {
    return program::shown(program::text_record(ksp, record).value_or("-"));
}

// The kstat `what` of the export's device, read; null if the device has none of that name. Another
// provider may have one of the same name: libkstat has the process id of the provider in ks_private.
kstat_t* read_beside(kstat_ctl_t* chain, const kstat_t& exp, const char* what) {
    return program::read_kstat(chain, program::provider_of(exp), "nbd", exp.ks_instance,
                               fmt::format("nbd{},{}", exp.ks_instance, what));
}

std::string clients(kstat_ctl_t* chain, const kstat_t& exp) {
    kstat_t* cmds = read_beside(chain, exp, "cmds");
    const auto connections =
        cmds == nullptr ? std::nullopt : program::number_record(cmds, "connections");
    return connections ? std::to_string(*connections) : "-";
}

void print_detail(const std::string& detail) {
    fmt::print("{:<8} {}\n", "", detail);
}

void print_upstream(const top::Upstream& upstream) {
    const top::SettingLine line = top::upstream_line(upstream);
    print_detail(line.text + line.counts);
}

// Lines about depth, upstream, model, limits, faults and crash cache, as far as the device has them.
void list_behaviour(kstat_ctl_t* chain, const kstat_t& exp, const top::Settings& settings) {
    if (const auto geometry = top::geometry_of(read_beside(chain, exp, "geometry"))) {
        print_detail(fmt::format("depth {}", geometry->queue_depth));
    }
    if (settings.upstream) print_upstream(*settings.upstream);
    if (settings.model) {
        print_detail(fmt::format("model {}, seed {}", settings.model->spec, settings.model->seed));
    }
    if (settings.limit) print_detail("limit " + settings.limit->spec);
    if (settings.client_limit) print_detail("client-limit " + *settings.client_limit);
    for (const top::FaultSetting& fault : settings.faults) {
        print_detail(fmt::format("fault {}: {}, hits {}", fault.id, fault.rule, fault.hits));
    }
    if (settings.crash_cache) print_detail("crash-cache " + *settings.crash_cache);
}

bool is_export(const kstat_t& ksp) {
    return std::strcmp(ksp.ks_module, "nbd") == 0 &&
           std::strcmp(ksp.ks_name, fmt::format("nbd{},export", ksp.ks_instance).c_str()) == 0;
}

// "nbd0", or "nbd0@4711" if another provider has an nbd0, too.
std::string device_name(kstat_ctl_t* chain, const kstat_t& exp) {
    for (const kstat_t* ksp = chain->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (!is_export(*ksp) || ksp == &exp || ksp->ks_instance != exp.ks_instance) continue;
        return fmt::format("nbd{}@{}", exp.ks_instance, program::provider_of(exp));
    }
    return fmt::format("nbd{}", exp.ks_instance);
}

// By the numbers of their devices; the chain is in the order of its providers' process ids.
std::vector<kstat_t*> exports_of(const kstat_ctl_t& chain) {
    std::vector<kstat_t*> exports;
    for (kstat_t* ksp = chain.kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (is_export(*ksp)) exports.push_back(ksp);
    }
    std::ranges::stable_sort(exports, {}, &kstat_t::ks_instance);
    return exports;
}

// For each device with a model, a sentence if its server was late, by the provider and the device's
// number. Histograms that cannot be read have none.
std::map<std::pair<int, int>, std::string> late_servers() try {
    std::map<std::pair<int, int>, std::string> sentences;
    iostat::Options options;
    options.mode = iostat::Mode::extended;
    iostat::Reader reader(options);
    std::vector<iostat::Device> devices = reader.read();
    std::erase_if(devices, [](const iostat::Device& one) {
        return one.kind != iostat::Kind::disk || one.module != "nbd";
    });
    iostat::HistogramReader().read_into(devices, [](const iostat::Device&, std::string_view name) {
        return name == iostat::lateness_name || name.ends_with("_total");
    });
    for (const iostat::Device& one : devices) {
        const auto times = iostat::of_transfers(one.histograms, "total");
        if (!times || times->count() < iostat::requests_with_p99) continue;
        const auto sentence = iostat::late_server_text(one.histograms);
        if (sentence) sentences.emplace(std::pair(one.provider, one.instance), *sentence);
    }
    return sentences;
} catch (const std::runtime_error&) {
    return {};  // the exports are listed all the same
}

// Only the exports of the named devices remain, if any is named.
void keep_named(std::vector<kstat_t*>& exports, const std::vector<std::string>& names) {
    const auto is_meant = [](const kstat_t& exp, const std::string& name) {
        return iostat::is_name_of(name, fmt::format("nbd{}", exp.ks_instance),
                                  program::provider_of(exp));
    };
    for (const std::string& name : names) {
        const bool found = std::ranges::any_of(
            exports, [&](const kstat_t* each) { return is_meant(*each, name); });
        if (!found) throw std::runtime_error("list: " + iostat::no_devices_text({name}));
    }
    std::erase_if(exports, [&](const kstat_t* each) {
        return !names.empty() && std::ranges::none_of(names, [&](const std::string& name) {
            return is_meant(*each, name);
        });
    });
}

void list_exports(kstat_ctl_t* chain, const ListCommand& command) {
    std::vector<kstat_t*> exports = exports_of(*chain);
    keep_named(exports, command.devices);
    if (exports.empty()) return log_line("list: ", iostat::no_devices_text());
    std::map<std::pair<int, int>, std::string> late;
    if (command.verbose) late = late_servers();
    fmt::print("{:<8} {:>7}  {:<24} {}\n", "device", "clients", "backing", "uri");
    for (kstat_t* ksp : exports) {
        if (kstat_read(chain, ksp, nullptr) < 0) continue;
        fmt::print("{:<8} {:>7}  {:<24} {}\n", device_name(chain, *ksp), clients(chain, *ksp),
                   text(ksp, "backing"), text(ksp, "uri"));
        const top::Settings settings =
            top::read_settings([&](const char* what) { return read_beside(chain, *ksp, what); });
        if (command.verbose) {
            list_behaviour(chain, *ksp, settings);
            const auto sentence = late.find({program::provider_of(*ksp), ksp->ks_instance});
            if (sentence != late.end()) print_detail("since the creation, " + sentence->second);
        } else if (settings.upstream && !settings.upstream->is_connected()) {
            print_upstream(*settings.upstream);
        }
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

void list(const ListCommand& command) {
    const program::Chain chain(kstat_open());
    if (!chain) throw_errno("list: read kstats");
    list_exports(chain.get(), command);
    if (command.devices.empty()) list_attached();
}

}  // namespace blkscope
