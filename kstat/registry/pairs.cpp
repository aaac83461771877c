// The functions with which a provider fills its pairs.
#include <sys/kstat2.h>

#include <cstring>

#include "kstat/registry/report.hpp"

namespace {

void check_type(const kstat2_named_t* nv, uint8_t type, const char* function) {
    if (nv->type == type) return;
    blkscope::kstat::panic("%s: '%s' is of another type", function,
                           nv->name.ptr == nullptr ? "" : nv->name.ptr);
}

}  // namespace

extern "C" {

void kstat2_nv_init(kstat2_named_t* nv, const char* name, uchar_t type, kstat2_nv_flags_t flags) {
    nv->name.ptr = const_cast<char*>(name);
    nv->name.len = name == nullptr ? 0 : static_cast<uint32_t>(std::strlen(name) + 1);
    nv->type = type;
    nv->flags = flags;
    if (type != KSTAT2_NVVT_INT) std::memset(&nv->value, 0, sizeof nv->value);
}

void kstat2_nv_setstr(kstat2_named_t* nv, const char* value) {
    check_type(nv, KSTAT2_NVVT_STR, "kstat2_nv_setstr");
    nv->value.string.ptr = const_cast<char*>(value);
    nv->value.string.len = value == nullptr ? 0 : static_cast<uint32_t>(std::strlen(value) + 1);
}

void kstat2_nv_setstrs(kstat2_named_t* nv, kstat2_named_str_t* array, uint32_t length) {
    check_type(nv, KSTAT2_NVVT_STRS, "kstat2_nv_setstrs");
    nv->value.strings.array = array;
    nv->value.strings.length = array == nullptr ? 0 : length;
}

void kstat2_nv_setints(kstat2_named_t* nv, uint64_t* array, uint32_t length) {
    check_type(nv, KSTAT2_NVVT_INTS, "kstat2_nv_setints");
    nv->value.integers.array = array;
    nv->value.integers.length = array == nullptr ? 0 : length;
}

}  // extern "C"
