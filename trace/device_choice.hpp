// The device whose requests are taken of a file that may have several: the named one, or the only one.
//
// Ownership: copies of the names.
// Threads:   one.
// Errors:    choose() returns one line, empty for none.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace blkscope::trace {

class DeviceChoice {
  public:
    /// So many more of this device are in the file.
    void count(const std::string& device, size_t more = 1) { devices_[device] += more; }

    /// Chooses by a name as "8:16" or "8,16"; an empty one chooses the only device. `what` is what
    /// was counted: "request".
    [[nodiscard]] std::string choose(std::string_view named, std::string_view what = "request");

    /// Empty if nothing was counted.
    [[nodiscard]] const std::string& chosen() const { return chosen_; }

  private:
    std::map<std::string, size_t> devices_;
    std::string chosen_;
};

}  // namespace blkscope::trace
