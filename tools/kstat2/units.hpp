// Numbers in the units that their metadata state.
#pragma once

#include <cstdint>
#include <string>

#include "tools/kstat2/statistic.hpp"

namespace blkscope::kstat2_command {

/// A number in a readable form. 1500000 of {t_acc, FRACT, 10^9} is "1.5 ms", and 2048 bytes are
/// "2 KiB". Flags and addresses are hexadecimal. A number has at most four digits where there is a
/// larger unit.
[[nodiscard]] std::string in_units(uint64_t raw, const Meaning& meaning);

/// The metadata, as in "t_acc,fract,1000000000": type, flags if there are any, scale.
[[nodiscard]] std::string metadata_text(const Meaning& meaning);

/// A number as a report shows it: in its unit if `scaled`, else as the provider published it. Flags
/// and addresses are hexadecimal in both.
[[nodiscard]] std::string number_text(uint64_t raw, const Meaning& meaning, bool scaled);

/// The type's name, as in "t_acc"; for a type without a name, its number.
[[nodiscard]] std::string type_name(uint16_t type);

}  // namespace blkscope::kstat2_command
