#include "tools/top/settings_reader.hpp"

#include <cstring>
#include <string_view>

#include "tools/program/kstats.hpp"

namespace blkscope::top {
namespace {

using program::number_record;
using program::text_record;

// The names of the records that begin with `lead` and end with `tail`, without both.
std::vector<std::string> names_between(kstat_t* ksp, std::string_view lead, std::string_view tail) {
    std::vector<std::string> names;
    if (ksp->ks_type != KSTAT_TYPE_NAMED) return names;
    for (uint_t i = 0; i < ksp->ks_ndata; ++i) {
        const std::string name = program::field_text(KSTAT_NAMED_PTR(ksp)[i].name);
        if (!name.starts_with(lead) || !name.ends_with(tail)) continue;
        names.push_back(name.substr(lead.size(), name.size() - lead.size() - tail.size()));
    }
    return names;
}

std::string text_or_dash(kstat_t* ksp, const std::string& name) {
    return text_record(ksp, name).value_or("-");
}

// Without an answer of the upstream there is no round trip yet.
Upstream upstream_of(kstat_t* ksp) {
    Upstream upstream{.state = program::word_record(ksp, "state").value_or("-")};
    for (const std::string& name : names_between(ksp, "", "")) {
        const auto value = number_record(ksp, name);
        if (!value) continue;
        if (name != "round_trip") {
            upstream.counts.push_back({.name = name, .value = *value});
        } else if (*value > 0) {
            upstream.round_trip_ns = value;
        }
    }
    return upstream;
}

ModelSetting model_of(kstat_t* ksp) {
    return {.spec = text_or_dash(ksp, "spec"),
            .seed = number_record(ksp, "seed").value_or(0),
            .drawn = number_record(ksp, "drawn").value_or(0),
            .overruns = number_record(ksp, "overruns").value_or(0),
            .late_ns = number_record(ksp, "late_ns").value_or(0)};
}

LimitSetting limit_of(kstat_t* ksp) {
    LimitSetting limit{.spec = text_or_dash(ksp, "spec")};
    for (const std::string& name : names_between(ksp, "", "_level")) {
        const kstat_named_t* level = program::record_of(ksp, name + "_level", KSTAT_DATA_INT64);
        if (level == nullptr) continue;
        limit.buckets.push_back(
            {.name = name,
             .level = level->value.i64,
             .exceeded_ns = number_record(ksp, name + "_exceeded_ns").value_or(0)});
    }
    return limit;
}

std::vector<FaultSetting> faults_of(kstat_t* ksp) {
    std::vector<FaultSetting> faults;
    for (const std::string& id : names_between(ksp, "rule_", "")) {
        faults.push_back({.id = id,
                          .rule = text_or_dash(ksp, "rule_" + id),
                          .hits = number_record(ksp, "hits_" + id).value_or(0)});
    }
    return faults;
}

}  // namespace

Source source_of(kstat_t* exp) {
    return {.export_name = text_or_dash(exp, "name"), .backing = text_or_dash(exp, "backing")};
}

Settings read_settings(const std::function<kstat_t*(const char* what)>& read) {
    Settings settings;
    if (kstat_t* ksp = read("upstream")) settings.upstream = upstream_of(ksp);
    if (kstat_t* ksp = read("model")) settings.model = model_of(ksp);
    if (kstat_t* ksp = read("limits")) settings.limit = limit_of(ksp);
    if (kstat_t* ksp = read("client-limits")) settings.client_limit = text_or_dash(ksp, "spec");
    if (kstat_t* ksp = read("faults")) settings.faults = faults_of(ksp);
    if (kstat_t* ksp = read("export")) {
        settings.crash_cache = text_record(ksp, "crash_cache");
        settings.source = source_of(ksp);
    }
    return settings;
}

std::optional<blkscope_geometry_t> geometry_of(const kstat_t* ksp) {
    blkscope_geometry_t geometry{};
    if (ksp == nullptr || ksp->ks_type != KSTAT_TYPE_RAW || ksp->ks_data_size < sizeof geometry) {
        return {};
    }
    std::memcpy(&geometry, ksp->ks_data, sizeof geometry);
    if (geometry.version < BLKSCOPE_GEOMETRY_VERSION) return {};
    return geometry;
}

}  // namespace blkscope::top
