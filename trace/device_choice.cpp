#include "trace/device_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blkscope::trace {

std::string DeviceChoice::choose(std::string_view named, std::string_view what) {
    std::string list;
    for (const auto& [device, count] : devices_) {
        list += fmt::format("{}{} ({} {}{})", list.empty() ? "" : ", ",
                            device.empty() ? "one without a name" : device, count, what,
                            count == 1 ? "" : "s");
    }
    chosen_ = named;
    std::ranges::replace(chosen_, ',', ':');
    if (named.empty()) {
        if (devices_.size() > 1) {
            return fmt::format("has several devices: {}; name one with --device", list);
        }
        if (!devices_.empty()) chosen_ = devices_.begin()->first;
        return {};
    }
    if (devices_.contains(chosen_)) return {};
    return fmt::format("has no device {}, but {}", named, list.empty() ? "none" : list);
}

}  // namespace blkscope::trace
