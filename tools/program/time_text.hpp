// A time in the unit that suits it.
#pragma once

#include <string>

namespace blkscope::program {

/// "1.5us", "20ms" or "3s" for a time in nanoseconds, with at most so many digits that count.
[[nodiscard]] std::string time_text(double ns, int digits);

}  // namespace blkscope::program
