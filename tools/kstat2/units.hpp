// Numbers in the units that their metadata tells of.
#pragma once

#include <cstdint>
#include <string>

#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// A raw number as a person reads it: 1500000 of {t_acc, FRACT, 10^9} is "1.5 ms", 2048 bytes are
/// "2 KiB", flags and addresses are hexadecimal. At most four digits where there is a larger unit.
[[nodiscard]] std::string in_units(uint64_t raw, const Meaning& meaning);

/// "t_acc,fract,1000000000": type, flags if there are any, scale.
[[nodiscard]] std::string metadata_text(const Meaning& meaning);

/// Whether a number of that type is shown in hexadecimal.
[[nodiscard]] bool is_hexadecimal(uint16_t type);

/// "t_acc"; the number of a type without a name.
[[nodiscard]] std::string type_name(uint16_t type);

}  // namespace blkscope::kstat2_command
