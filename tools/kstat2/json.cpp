// The JSON form of a kstat.

#include "tools/kstat2/format.hpp"
#include "tools/kstat2/units.hpp"

namespace blkscope::kstat2_command {

using program::Json;

namespace {

struct JsonOf {
    Json operator()(std::monostate /*invalid*/) const { return {}; }
    template <class T>
    Json operator()(const T& value) const {
        return value;
    }
};

Json flags_of(const Reading& reading) {
    Json flags = Json::array();
    if ((reading.flags & KSTAT2_MAPF_DORM) != 0) flags.push_back("dormant");
    if ((reading.metaflags & KSTAT2_MF_STABLE) != 0) flags.push_back("stable");
    if ((reading.metaflags & KSTAT2_MF_PRIV) != 0) flags.push_back("priv");
    return flags;
}

Json object_of(const Meaning& meaning) {
    Json flags = Json::array();
    if ((meaning.flags & KSTAT2_NVMF_FRACT) != 0) flags.push_back("fract");
    if ((meaning.flags & KSTAT2_NVMF_LIMIT) != 0) flags.push_back("limit");
    return {{"type", type_name(meaning.type)},
            {"flags", flags},
            {"scale", meaning.scale},
            {"desc", meaning.desc}};
}

Json metatype_of(const Reading& reading) {
    const char* name = nullptr;
    if (kstat2_map_metatype_string(reading.metatype, &name) != KSTAT2_S_OK) return reading.metatype;
    return name;
}

}  // namespace

Json json_object(const Reading& reading, const std::optional<Json>& time) {
    Json object{{"uri", reading.uri}};
    if (time) object.add("time", *time);
    object.add("snaptime", reading.snaptime);
    object.add("crtime", reading.crtime);
    object.add("desc", reading.desc);
    object.add("metatype", metatype_of(reading));
    object.add("flags", flags_of(reading));
    Json data = Json::object();
    Json meta = Json::object();
    for (const Statistic& statistic : reading.statistics) {
        // The two times are members of the object itself.
        if (statistic.name == "crtime" || statistic.name == "snaptime") continue;
        data.add(statistic.name, std::visit(JsonOf(), statistic.value));
        meta.add(statistic.name, object_of(statistic.meaning));
    }
    object.add("data", std::move(data));
    object.add("meta", std::move(meta));
    return object;
}

}  // namespace blkscope::kstat2_command
