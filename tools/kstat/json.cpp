#include "tools/kstat/json.hpp"

#include <cmath>
#include <set>
#include <string_view>

namespace blkscope::kstat_command {

using program::Json;

namespace {

bool is_finite(const Value& value) {
    if (const auto* number = std::get_if<float>(&value)) return std::isfinite(*number);
    if (const auto* number = std::get_if<double>(&value)) return std::isfinite(*number);
    return true;
}

}  // namespace

Json json_value(const Value& value) {
    if (const auto* text = std::get_if<Text>(&value)) return *text;
    return is_finite(value) ? Json::number(value_text(value)) : Json();
}

Json json_object(const Reading& kstat, const Chosen& chosen, const std::optional<Json>& time) {
    Json object{
        {"module", kstat.module}, {"instance", kstat.instance},
        {"name", kstat.name},     {"class", kstat.kstat_class},
        {"type", kstat.type},     {"snaptime", Json::number(value_text(Moment{kstat.snaptime}))}};
    if (time) object.add("time", *time);
    Json data = Json::object();
    std::set<std::string_view> names;
    for (const Statistic* statistic : chosen) {
        if (names.insert(statistic->name).second) {
            data.add(statistic->name, json_value(statistic->value));
        }
    }
    object.add("data", std::move(data));
    return object;
}

}  // namespace blkscope::kstat_command
