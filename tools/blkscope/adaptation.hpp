// Adaptation: the changes of a running device that make it as its configuration says. A device that
// serves can change its model, limits, faults, queue depth and order.
//
//     Adaptation(device, config) ── all parsed, nothing changed ──▶ apply() ─ cannot fail ─▶ device
//
// The configuration is compared with what holds now. So a reload also undoes what `blkscope set`
// and `blkscope fault` have changed, a model's seed included. A part that does not differ goes on.
// So a model keeps its draws, limits keep their tokens, and rules keep their hits.
//
// Ownership: borrows the device, which stays until apply() has returned.
// Threads:   the control thread.
// Errors:    the constructor throws std::invalid_argument.
#pragma once

#include <string>
#include <vector>

#include "blockdev/device/device.hpp"
#include "tools/blkscope/config.hpp"

namespace blkscope {

class Adaptation {
  public:
    Adaptation(Device& device, const ExportConfig& config);

    [[nodiscard]] bool empty() const { return changes_.empty(); }

    /// Changes the device, and logs each change.
    void apply();

  private:
    void compare_faults(const Behaviour& now);

    Device& device_;
    Behaviour wanted_;
    uint32_t queue_depth_;
    StartOrder order_;
    bool model_differs_ = false;
    bool limits_differ_ = false;
    bool client_limits_differ_ = false;
    bool faults_differ_ = false;
    std::vector<std::string> changes_;
};

/// The part of an export's configuration that only a new device can have.
ExportConfig fixed_part(const ExportConfig& config);

}  // namespace blkscope
