#include "tools/kstat2/statistic.hpp"

#include <algorithm>

namespace blkscope::kstat2_command {

const Statistic* find(const Reading& reading, std::string_view name) {
    const auto at = std::ranges::find(reading.statistics, name, &Statistic::name);
    return at == reading.statistics.end() ? nullptr : &*at;
}

const uint64_t* find_number(const Reading& reading, std::string_view name) {
    const Statistic* const statistic = find(reading, name);
    return statistic == nullptr ? nullptr : std::get_if<uint64_t>(&statistic->value);
}

}  // namespace blkscope::kstat2_command
