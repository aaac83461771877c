// Which providers do not answer. libkstat's chain lacks their kstats, as it lacks those of providers
// that have ended. Its functions do not tell the two apart.
//
// Threads: any.
// Source:  the socket of each provider, as provider.hpp asks it.
#pragma once

#include <string>
#include <vector>

namespace blkscope::kstat {

/// The paths of the sockets whose providers do not answer now. A provider that has ended is not among
/// them, nor is one that libkstat would not trust. Waits one second at most, for all together.
[[nodiscard]] std::vector<std::string> silent_sockets();

}  // namespace blkscope::kstat
