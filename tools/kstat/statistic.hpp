// The result of reading a kstat of any type: its names and its statistics.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/program/kstats.hpp"

namespace blkscope::kstat_command {

using program::bounded_text;
using program::field_text;

/// A moment on CLOCK_MONOTONIC, kept in nanoseconds and printed in seconds.
struct Moment {
    hrtime_t ns;
};

/// A string; none if the provider's string is a null pointer.
using Text = std::optional<std::string>;
using Value = std::variant<int64_t, uint64_t, float, double, Moment, Text>;

struct Statistic {
    std::string name;
    Value value;
};

/// The state of a kstat at one moment.
struct Reading {
    std::string module = {};
    int instance = 0;
    std::string name = {};
    std::string kstat_class = {};
    int type = 0;
    hrtime_t snaptime = 0;                   // ns; 0 if the kstat was never read
    std::vector<Statistic> statistics = {};  // in the order of their names: see Reader::read()
};

/// The order of names, without regard to case.
[[nodiscard]] bool name_before(std::string_view one, std::string_view other);

}  // namespace blkscope::kstat_command
