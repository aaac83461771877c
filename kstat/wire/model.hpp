// A kstat in transit: its description (Map), and its values at one moment (Values).
//
// The provider's framework creates both, the protocol carries them, and the reader's library shows
// them. A reader's map has two more pairs, which are not in `fields`: crtime, from Map, and
// snaptime, from Values. Both are KSTAT2_NVMT_T_REL in nanoseconds.
//
// Units: nanoseconds of CLOCK_MONOTONIC. Ownership: values; nothing points into a provider.
#pragma once

#include <sys/kstat2.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace blkscope::kstat2 {

/// The meaning of one value: kstat2_md_t.
struct Metadata {
    uint16_t type = KSTAT2_NVMT_UNK;
    uint16_t flags = KSTAT2_NVMF_NONE;
    uint64_t scale = 1;
    int8_t v1_data_type = -1;
    std::string descr;

    bool operator==(const Metadata&) const = default;
};

/// A pair without its value: the parts that never change while the kstat is installed.
struct Field {
    std::string name;
    uint8_t type = KSTAT2_NVVT_INT;  // KSTAT2_NVVT_INT to _STRS
    Metadata md;

    bool operator==(const Field&) const = default;
};

struct Map {
    kid_t kid = 0;
    hrtime_t crtime = 0;
    std::string path;  // "/misc/my_drv/1/data_in"; its URI is the path behind "kstat:"
    std::string desc;
    uint16_t metatype = KSTAT2_MT_NONE;
    uint32_t metaflags = KSTAT2_MF_NONE;
    uint32_t flags = KSTAT2_MAPF_NONE;
    std::vector<Field> fields;  // in the order in which the provider declared them

    bool operator==(const Map&) const = default;
};

/// The alternatives are in the order of KSTAT2_NVVT_INT, _INTS, _STR, _STRS, which begin at 1.
struct Value {
    uint16_t flags = KSTAT2_NVF_NONE;
    std::variant<uint64_t, std::vector<uint64_t>, std::string, std::vector<std::string>> data;

    uint8_t type() const { return static_cast<uint8_t>(data.index() + 1); }
    bool operator==(const Value&) const = default;
};

/// All values of one kstat, from one snapshot under its lock.
struct Values {
    kid_t kid = 0;
    hrtime_t snaptime = 0;
    uint32_t flags = KSTAT2_MAPF_NONE;
    // If not 0, the result of the provider's ks2_update. Every value is then flagged
    // KSTAT2_NVF_INVAL, and is the value from before.
    int32_t error = 0;
    std::vector<Value> values;  // one for each of Map::fields

    bool operator==(const Values&) const = default;
};

/// Statistics that are off until a user turns them on.
struct Optional {
    kstat2_opt_id_t id = 0;  // never used again in its process
    std::string name;        // "module:what"
    std::string desc;
    bool is_on_by_default = false;
    bool is_on = false;

    bool operator==(const Optional&) const = default;
};

}  // namespace blkscope::kstat2
