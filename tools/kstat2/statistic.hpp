// The result of reading a kstat: plain values, which stay valid after the library's values.
#pragma once

#include <kstat2.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace blkscope::kstat2_command {

/// A value; std::monostate if the provider says that the value has no meaning at present.
using Value = std::variant<std::monostate, uint64_t, std::vector<uint64_t>, std::string,
                           std::vector<std::string>>;

/// A value means raw * scale, or raw / scale with KSTAT2_NVMF_FRACT, in the unit of the type.
struct Meaning {
    uint16_t type = KSTAT2_NVMT_UNK;
    uint16_t flags = KSTAT2_NVMF_NONE;
    uint64_t scale = 1;
    std::string desc = {};
};

struct Statistic {
    std::string name;
    Value value;
    Meaning meaning = {};
};

/// The state of a kstat at one moment.
struct Reading {
    std::string uri;
    std::string desc = {};
    uint16_t metatype = KSTAT2_MT_NONE;
    uint32_t metaflags = KSTAT2_MF_NONE;
    uint32_t flags = KSTAT2_MAPF_NONE;
    uint64_t crtime = 0;                     // ns
    uint64_t snaptime = 0;                   // ns
    std::vector<Statistic> statistics = {};  // in the order of their declaration
};

/// The statistic of that name; null if there is none.
[[nodiscard]] const Statistic* find(const Reading& reading, std::string_view name);

/// The number of that name; null if there is none, or if its type is another.
[[nodiscard]] const uint64_t* find_number(const Reading& reading, std::string_view name);

}  // namespace blkscope::kstat2_command
