// LiveChanges: changes of models, limits, depth and faults of a device that serves, as `blkscope set`
// and `blkscope fault` make them.
//
//     seed ─▶ draw_model(), draw_limits(), draw_fault() ─▶ make_one() ─▶ Controls
//
// Some faults lose or damage data, and the oracle cannot allow that. Only a disk without content
// gets these.
//
// Units:     see the grammars.
// Ownership: values; borrows a device for a call.
#pragma once

#include <optional>

#include "blockdev/device/device.hpp"
#include "blockdev/model/fault_rule.hpp"
#include "blockdev/model/limit_spec.hpp"
#include "blockdev/model/model_spec.hpp"
#include "obedience.hpp"
#include "random.hpp"

namespace blkscope::simulation {

/// A model; nothing to remove the present one.
std::optional<model::ModelSpec> draw_model(Random& random);
/// Limits; nothing to remove the present ones.
std::optional<model::LimitSpec> draw_limits(Random& random);
/// A rule. `any`: also one that damages data.
model::FaultRule draw_fault(Random& random, bool any, uint64_t device_bytes);

class LiveChanges {
  public:
    explicit LiveChanges(Random random) : random_(random) {}

    /// Changes one setting of the device. `content`: its data is checked.
    void make_one(Device& device, bool content);
    /// The same change, as far as it concerns the depth or limits.
    void note(Setting& setting) const;
    /// Lets all requests go on that a fault or a limit could hold for longer than the life.
    void end(Device& device);

    /// A rule so far fails requests without a failed operation.
    [[nodiscard]] bool have_errors() const { return errors_; }
    /// The last change lets the server close connections.
    [[nodiscard]] bool closes() const { return closes_; }

  private:
    void add_fault(Device& device, bool content);

    std::optional<uint32_t> depth_;  // of the last change
    std::optional<std::optional<model::LimitSpec>> limits_;
    std::optional<std::optional<model::LimitSpec>> client_limits_;
    Random random_;
    bool errors_ = false;
    bool closes_ = false;
};

}  // namespace blkscope::simulation
