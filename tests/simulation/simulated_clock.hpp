// SimulatedClock: the processors' counters in a life, and the clock that the product makes of them.
//
//     true time ─ x (1 + drift) ─ + steps so far ─ + skew of the processor ─ - origin ─▶ read()
//         └───────── CLOCK_MONOTONIC ─▶ correct() moves the origin ────────────┘
//
// Each worker has a processor of its own, and the control thread has another one. The skew of a processor moves
// slowly within its bound. A step is a resume or a migration: all counters jump, and nobody is told.
// Without a plan each processor reads the true time.
//
// Units:  nanoseconds, which are the ticks.
// Source: base/clock.hpp and base/clock.cpp, which do the same with the real counter.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "random.hpp"

namespace blkscope::simulation {

/// The clocks of a life. A step comes so many readings after its time, so also within a worker's turn.
struct ClockPlan {
    struct Step {
        hrtime_t when = 0;
        hrtime_t ns = 0;
        uint64_t readings = 0;
    };

    hrtime_t skew_ns_max = 0;
    int64_t drift_ppb = 0;
    std::vector<Step> steps;  // by their time

    [[nodiscard]] bool is_true() const {
        return skew_ns_max == 0 && drift_ppb == 0 && steps.empty();
    }
    /// How far a stamp of a device may be from the true time.
    ///
    /// A step that is shorter than the trusted pause may stay unnoticed for as long, and a device
    /// keeps its latest stamp until the corrected clock is there.
    [[nodiscard]] hrtime_t wrong_ns_max() const;
    /// As a text; empty without any plan.
    [[nodiscard]] std::string text() const;
};

/// Mostly all clocks are true. The steps are within `ns` from `now` on.
ClockPlan draw_clocks(Random random, hrtime_t now, hrtime_t ns);

class SimulatedClock {
  public:
    /// The control thread's processor; worker i has processor i + 1.
    static constexpr unsigned control = 0;

    void set_plan(const ClockPlan& plan, uint64_t seed) {
        plan_ = plan;
        seed_ = seed;
    }
    /// A processor reads the clock during the lifetime of this object; else the control thread's does.
    class Running {
      public:
        Running(SimulatedClock& clock, unsigned processor) : clock_(clock) {
            clock_.processor_ = processor;
        }
        ~Running() { clock_.processor_ = control; }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        SimulatedClock& clock_;
    };

    [[nodiscard]] hrtime_t read(hrtime_t true_now);
    void correct(hrtime_t true_now);

  private:
    void step(hrtime_t true_now);
    [[nodiscard]] hrtime_t skew(hrtime_t true_now) const;

    ClockPlan plan_;
    uint64_t seed_ = 0;
    unsigned processor_ = control;
    hrtime_t jumped_ = 0;
    bool just_corrected_ = false;
    hrtime_t origin_ = 0;
};

}  // namespace blkscope::simulation
