// Governor: changes the models, limits, depth and fault rules of a device while it serves, and knows what its requests
// must have done.
//
//     change_model(), change_limits(), add_rule() ... ─▶ Controls
//                └─▶ Chronicle ◀─ record() of each request that has ended
//                        └─▶ check()
//
// Each error and each delay is of one rule, so a request shows by which it was struck.
//
// Units:     nanoseconds of virtual time, which are the ticks.
// Ownership: borrows the timeline and the judge. A device is borrowed for a call.
// Threads:   one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blockdev/device/device.hpp"
#include "judge.hpp"
#include "model_obedience.hpp"
#include "random.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

class Governor {
  public:
    Governor(Timeline& timeline, Judge& judge) : timeline_(timeline), judge_(judge) {}

    /// The device begins with this depth, and with nothing else.
    void begin(uint32_t depth);

    void change_model(Device& device, Random& random);
    void change_limits(Device& device, Random& random, bool of_clients);
    void change_depth(Device& device, Random& random);
    void change_order(Device& device, Random& random);
    /// A rule of any kind, or of the kind.
    void add_rule(Device& device, Random& random);
    void add_delay(Device& device, Random& random);
    void note_hits(const Device& device);
    /// Removes rules by their places in the chronicle; those that are there.
    void remove_rules(Device& device, size_t first, size_t last);
    void remove_all_rules(Device& device) { remove_rules(device, 0, chronicle_.rules.size()); }
    void clear_rules(Device& device);

    /// The request has ended. `client` is the key of its client; 0: none.
    void record(const Buf& buf, uint32_t client);
    /// All requests started when they could and not before, and took the times of the models and rules.
    void check(const Graces& graces) const;

    [[nodiscard]] const Chronicle& chronicle() const { return chronicle_; }
    [[nodiscard]] Chronicle& chronicle() { return chronicle_; }

  private:
    [[nodiscard]] KnownRule draw_rule(Random& random, uint64_t device_bytes);
    void draw_delay(KnownRule& rule);
    static void draw_terms(KnownRule& rule, Random& random, uint64_t device_bytes);
    void add(Device& device, KnownRule rule);
    Setting& note_change();

    Timeline& timeline_;
    Judge& judge_;
    Chronicle chronicle_;
    size_t errors_ = 0;    // of rules so far
    hrtime_t delays_ = 0;  // of rules so far
};

}  // namespace blkscope::simulation
