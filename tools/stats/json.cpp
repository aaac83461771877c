#include "tools/stats/json.hpp"

#include <algorithm>

#include "tools/program/json.hpp"

namespace blkscope::stats_command {
namespace {

using program::Json;

Json figures_object(const std::optional<Figures>& figures, const std::string& unit) {
    if (!figures) return {};
    const std::string suffix = unit.empty() ? "" : "_" + unit;
    Json object{{"count", figures->count}};
    object["mean" + suffix] = figures->mean;
    object["min" + suffix] = figures->min;
    for (size_t i = 0; i < quantile_names.size(); ++i) {
        std::string key(quantile_names[i]);
        std::ranges::replace(key, '.', '_');
        object[key + suffix] = figures->quantiles[i];
    }
    object["max" + suffix] = figures->max;
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
    Json objects = Json::array();
    for (const Device& device : devices) objects.push_back(device_object(device));
    const Json report{{"schema", "blockdev.stats/1"}, {"ts", now}, {"devices", objects}};
    return report.line() + "\n";
}

}  // namespace blkscope::stats_command
