// The C interface: the names of the numbers.

#include <kstat2.h>

#include <array>
#include <cstddef>

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr std::array statuses{
    "no error",
    "no permission",
    "out of memory",
    "the array is too small",
    "invalid argument",
    "not allowed in this state",
    "not allowed for this type of value",
    "no such map or value",
    "the map changed under its iterator",
    "the map is gone",
    "system failure",
};

constexpr std::array map_metatypes{"none", "queue", "io", "intr", "timer", "hist"};

constexpr std::array nv_metatypes{
    "unk",  "id",   "cnt",  "t_epoch", "t_rel", "t_acc", "pct",  "addr",  "temp_c", "rpm",
    "volt", "watt", "curr", "bytes",   "bits",  "state", "freq", "flags", "joule",
};

kstat2_status_t look_up(const auto& names, size_t number, const char** string) {
    if (string == nullptr || number >= names.size()) return KSTAT2_S_INVAL_ARG;
    *string = names[number];
    return KSTAT2_S_OK;
}

}  // namespace

extern "C" {

EXPORT const char* kstat2_status_string(kstat2_status_t status) {
    const auto number = static_cast<size_t>(status);
    return number < statuses.size() ? statuses[number] : "unknown status";
}

EXPORT kstat2_status_t kstat2_map_metatype_string(uint16_t type, const char** string) {
    return look_up(map_metatypes, type, string);
}

EXPORT kstat2_status_t kstat2_nv_metatype_string(uint16_t type, const char** string) {
    return look_up(nv_metatypes, type, string);
}

}  // extern "C"
