// What was read of a kstat: plain values, which outlive the library's.
#pragma once

#include <kstat2.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace blkscope::kstat2_command {

/// none: the provider says that it means nothing at present.
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

/// One look at a kstat.
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

/// Null: there is none of that name.
[[nodiscard]] const Statistic* find(const Reading& reading, std::string_view name);

/// The same where it must be a number. Nothing: none, or another type.
[[nodiscard]] const uint64_t* find_number(const Reading& reading, std::string_view name);

}  // namespace blkscope::kstat2_command
