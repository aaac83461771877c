#include "tools/stats/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace blkscope::stats_command {

namespace {

// Keys keep the order in which they are set.
using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
    return value ? Json(*value) : Json();
}

Json figures_object(const std::optional<Figures>& figures, const std::string& unit) {
    if (!figures) return {};
    const std::string suffix = unit.empty() ? "" : "_" + unit;
    Json object{{"count", figures->count}};
    object["mean" + suffix] = or_null(figures->mean);
    object["min" + suffix] = or_null(figures->min);
    for (size_t i = 0; i < quantile_names.size(); ++i) {
        std::string key(quantile_names[i]);
        std::ranges::replace(key, '.', '_');
        object[key + suffix] = or_null(figures->quantiles[i]);
    }
    object["max" + suffix] = or_null(figures->max);
    return object;
}

Json device_object(const Device& device) {
    Json object{{"device", device.name},
                {"instance", device.instance},
                {"snaptime_ns", device.snaptime},
                {"error", device.trouble.empty() ? Json() : Json(device.trouble)},
                {"variables", Json::object()}};
    for (const Row& row : compare(device)) {
        object["variables"][row.name] = {{"digest", figures_object(row.digest, row.unit)},
                                         {"histogram", figures_object(row.histogram, row.unit)}};
    }
    return object;
}

}  // namespace

std::string json(const std::vector<Device>& devices, std::time_t now) {
    Json report{{"schema", "blkscope.stats/1"}, {"ts", now}, {"devices", Json::array()}};
    for (const Device& device : devices) report["devices"].push_back(device_object(device));
    // A name may hold any bytes; the line has to stay valid.
    return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace blkscope::stats_command
