// LaneAlarms: the moments for which requests of a lane wait: planned ends, and tokens.
//
//     hold(plan, until) ─▶ ordered by moment ─▶ alarm ─▶ Detours::resume() ─▶ pop_due() ...
//     wait_for_tokens(when) ──────────────────▶ alarm ─▶ Detours::resume()
//
// Units:     ticks of the kernel's clock.
// Ownership: borrows the lane's device and ring, and each plan until pop_due() has returned it.
// Threads:   the lane's worker. waits_for_tokens() needs the device's lock, as wait_for_tokens().
// Errors:    none.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

#include "blockdev/device/plan.hpp"
#include "blockdev/ring/alarm.hpp"

namespace blkscope {

class Lane;
class Ring;

class LaneAlarms {
  public:
    /// A plan at its moment. Its request may have ended since, and the plan may have a new number.
    struct Entry {
        hrtime_t until = 0;
        uint64_t number = 0;
        Plan* plan = nullptr;
    };

    explicit LaneAlarms(Lane& lane) : ends_(lane), tokens_(lane) {}
    ~LaneAlarms() { assert(held_.empty()); }
    LaneAlarms& operator=(LaneAlarms&&) = delete;

    /// Keeps the plan until the moment. With `precise` the worker may spin before it.
    void hold(Ring& ring, Plan& plan, hrtime_t until, bool precise);
    /// The first plan whose moment has come.
    [[nodiscard]] std::optional<Entry> pop_due(hrtime_t now);
    /// Sets the alarm for the next plan. To be called after pop_due().
    void set_again(Ring& ring);

    /// The lane has no request any more. The moments that are left are of requests that ended early.
    void forget() { held_.clear(); }

    /// Nothing, if no request lacks tokens.
    void wait_for_tokens(Ring& ring, std::optional<hrtime_t> when);
    [[nodiscard]] bool waits_for_tokens() const { return tokens_.when() != Alarm::never; }

  private:
    /// Resumes the lane's requests.
    class Resume final : public Alarm {
      public:
        explicit Resume(Lane& lane) : lane_(lane) {}

      private:
        void due() override;

        Lane& lane_;
    };

    std::vector<Entry> held_;  // a heap; the first is the earliest
    bool precise_ = false;
    Resume ends_;
    Resume tokens_;
};

}  // namespace blkscope
