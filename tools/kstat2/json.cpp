// The JSON form.

#include "tools/kstat/json.hpp"

#include <fmt/format.h>

#include <iterator>

#include "tools/kstat2/format.hpp"
#include "tools/kstat2/units.hpp"

namespace blkscope::kstat2_command {

namespace {

using kstat_command::json_string;

std::string json_element(uint64_t number) {
    return fmt::format("{}", number);
}

std::string json_element(const std::string& text) {
    return json_string(text);
}

template <class T>
std::string json_array(const std::vector<T>& elements) {
    std::string text;
    for (const T& element : elements) text += (text.empty() ? "" : ", ") + json_element(element);
    return "[" + text + "]";
}

struct Json {
    std::string operator()(std::monostate /*invalid*/) const { return "null"; }
    std::string operator()(uint64_t number) const { return json_element(number); }
    std::string operator()(const std::string& text) const { return json_element(text); }
    template <class T>
    std::string operator()(const std::vector<T>& elements) const {
        return json_array(elements);
    }
};

std::string json_flags(const Reading& reading) {
    std::vector<std::string> flags;
    if ((reading.flags & KSTAT2_MAPF_DORM) != 0) flags.emplace_back("dormant");
    if ((reading.metaflags & KSTAT2_MF_STABLE) != 0) flags.emplace_back("stable");
    if ((reading.metaflags & KSTAT2_MF_PRIV) != 0) flags.emplace_back("priv");
    return json_array(flags);
}

std::string json_meaning(const Meaning& meaning) {
    std::vector<std::string> flags;
    if ((meaning.flags & KSTAT2_NVMF_FRACT) != 0) flags.emplace_back("fract");
    if ((meaning.flags & KSTAT2_NVMF_LIMIT) != 0) flags.emplace_back("limit");
    return fmt::format(R"({{"type": {}, "flags": {}, "scale": {}, "desc": {}}})",
                       json_string(type_name(meaning.type)), json_array(flags), meaning.scale,
                       json_string(meaning.desc));
}

std::string json_metatype(uint16_t type) {
    const char* name = nullptr;
    if (kstat2_map_metatype_string(type, &name) != KSTAT2_S_OK) return fmt::format("{}", type);
    return json_string(name);
}

// The two times are members of the object itself.
bool is_time(const Statistic& statistic) {
    return statistic.name == "crtime" || statistic.name == "snaptime";
}

template <class Show>
std::string json_members(const Reading& reading, Show&& show) {
    std::string text;
    for (const Statistic& statistic : reading.statistics) {
        if (is_time(statistic)) continue;
        text += text.empty() ? "\n\t\t" : ",\n\t\t";
        text += json_string(statistic.name) + ": " + show(statistic);
    }
    return "{" + text + (text.empty() ? "}" : "\n\t}");
}

}  // namespace

void append_object(std::string& out, const Reading& reading, std::string_view time) {
    out += fmt::format("{{\n\t\"uri\": {},\n", json_string(reading.uri));
    if (!time.empty()) out += fmt::format("\t\"time\": {},\n", time);
    out += fmt::format(
        "\t\"snaptime\": {},\n\t\"crtime\": {},\n\t\"desc\": {},\n\t\"metatype\": {},\n"
        "\t\"flags\": {},\n",
        reading.snaptime, reading.crtime, json_string(reading.desc),
        json_metatype(reading.metatype), json_flags(reading));
    out += "\t\"data\": " + json_members(reading, [](const Statistic& statistic) {
               return std::visit(Json(), statistic.value);
           });
    out += ",\n\t\"meta\": " + json_members(reading, [](const Statistic& statistic) {
               return json_meaning(statistic.meaning);
           });
    out += "\n}";
}

}  // namespace blkscope::kstat2_command
