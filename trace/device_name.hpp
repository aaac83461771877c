// The name of the device that a request was for.
//
// Ownership: values. Threads: any; pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/decimal.hpp"
#include "trace/request.hpp"

namespace blkscope::trace {

/// The number of "nbd3"; nothing for another name.
[[nodiscard]] inline std::optional<uint32_t> nbd_number(std::string_view name) {
    constexpr std::string_view prefix = "nbd";
    if (!name.starts_with(prefix)) return {};
    return decimal<uint32_t>(name.substr(prefix.size()));
}

/// The name of a request's device: the trace's own if that is another kind's, as "8:16", else nbdN.
[[nodiscard]] inline std::string device_name(const Trace& trace, uint32_t device) {
    const auto named = trace.properties.find("device");
    const bool is_other =
        named != trace.properties.end() && !named->second.empty() && !nbd_number(named->second);
    return is_other ? named->second : "nbd" + std::to_string(device);
}

}  // namespace blkscope::trace
