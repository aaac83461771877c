#include "tools/web/overview.hpp"

#include <utility>

#include "tools/program/json.hpp"

namespace blkscope::web {
namespace {

using program::Json;

Json limits_of(const top::Settings& settings) {
    Json limits = Json::array();
    if (!settings.limit) return limits;
    for (const top::LimitBucket& bucket : settings.limit->buckets) {
        limits.push_back({{"name", bucket.name},
                          {"spec", settings.limit->spec},
                          {"exceeded_ns", bucket.exceeded_ns}});
    }
    return limits;
}

// A bucket without tokens holds requests back.
Json limited_by(const top::Settings& settings) {
    if (!settings.limit) return {};
    for (const top::LimitBucket& bucket : settings.limit->buckets) {
        if (bucket.level <= 0) return bucket.name;
    }
    return {};
}

// The names of the counts are those of the kstat.
Json upstream_of(const top::Settings& settings) {
    if (!settings.upstream) return {};
    Json upstream{{"state", settings.upstream->state},
                  {"connected", settings.upstream->is_connected()},
                  {"round_trip_ns", settings.upstream->round_trip_ns}};
    Json counts = Json::object();
    for (const top::Upstream::Count& count : settings.upstream->counts) {
        counts.add(count.name, count.value);
    }
    upstream.add("counts", std::move(counts));
    return upstream;
}

Json faults_of(const top::Settings& settings) {
    Json faults = Json::array();
    for (const top::FaultSetting& fault : settings.faults) {
        faults.push_back({{"id", fault.id}, {"rule", fault.rule}, {"hits", fault.hits}});
    }
    return faults;
}

Json errors_of(const DeviceLook& look) {
    Json errors = Json::array();
    for (const auto& [record, count] : look.errnos) {
        if (count == 0) continue;
        const ErrnoRecord pair = errno_record(record);
        errors.push_back({{"op", pair.operation}, {"errno", pair.error}, {"count", count}});
    }
    return errors;
}

Json clients_of(const Look& look, const std::string& disk) {
    Json clients = Json::array();
    for (const DeviceLook& one : look.devices) {
        const bool is_of_disk = one.device.name.starts_with(disk + ",");
        if (one.device.kind != iostat::Kind::client || !is_of_disk) continue;
        clients.push_back({{"client", one.device.name.substr(disk.size() + 1)},
                           {"program", one.program},
                           {"peer", one.peer}});
    }
    return clients;
}

Json device_of(const Look& look, const DeviceLook& one) {
    const top::Settings& settings = one.settings;
    Json model;
    if (settings.model) {
        model = {{"spec", settings.model->spec},
                 {"drawn", settings.model->drawn},
                 {"overruns", settings.model->overruns}};
    }
    const auto connections = one.commands.find("connections");
    const bool has_count = connections != one.commands.end();
    const auto& source = settings.source;
    return {{"device", one.device.name},
            {"export", source ? Json(source->export_name) : Json()},
            {"backing", source ? Json(source->backing) : Json()},
            {"queue_depth", one.queue_depth},
            {"connections", has_count ? Json(connections->second) : Json()},
            {"upstream", upstream_of(settings)},
            {"model", std::move(model)},
            {"limits", limits_of(settings)},
            {"limited", limited_by(settings)},
            {"faults", faults_of(settings)},
            {"errors", errors_of(one)},
            {"clients", clients_of(look, one.device.name)}};
}

}  // namespace

std::string overview_text(const Look& look, const Shown& shows,
                          const std::vector<std::string>& directories) {
    Json providers = Json::array();
    for (const ProviderLook& one : look.providers) {
        providers.push_back({{"pid", one.pid}, {"up", one.is_up}});
    }
    Json devices = Json::array();
    for (const DeviceLook& one : look.devices) {
        const bool is_disk = one.device.kind == iostat::Kind::disk;
        if (is_disk && shows(one)) devices.push_back(device_of(look, one));
    }
    const Json overview{
        {"directories", directories}, {"providers", providers}, {"devices", devices}};
    return overview.line() + "\n";
}

}  // namespace blkscope::web
