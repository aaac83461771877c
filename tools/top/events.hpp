// Events: what the loop waits for, in one poll: the next look, a key, a signal.
//
// The signals are held back and read from a descriptor, so nothing interrupts a look or a screen
// that is half drawn, and no library handles them behind our back.
#pragma once

#include <sys/kstat.h>

#include <csignal>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"

namespace blkscope::top {

/// Signals that are not delivered for as long as this is there, except those that whoever started
/// us wants ignored. What they did before, they do again afterwards.
class HeldSignals {
  public:
    explicit HeldSignals(std::initializer_list<int> signals);
    ~HeldSignals();
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;
    [[nodiscard]] const sigset_t& all() const { return all_; }

  private:
    sigset_t all_{};
    sigset_t mask_before_{};
    std::vector<std::pair<int, struct sigaction>> actions_before_;
};

/// What has happened since the last one; several things may have.
struct Event {
    bool look = false;     // the next look is due
    bool input = false;    // standard input has something, or has ended
    bool hung_up = false;  // and nobody is at its other end
    int signal = 0;        // one of those watched; 0: none
};

class Events {
  public:
    /// Holds `signals` back, but for those that whoever started us wants ignored, and starts the
    /// clock. The descriptors and the signals' old state are given back at the end.
    ///
    /// Errors: throws std::system_error.
    Events(std::initializer_list<int> signals, hrtime_t interval_ns, bool watch_input);

    /// Sleeps until something happens. Looks that were missed meanwhile are one look.
    [[nodiscard]] Event wait();

    /// The next look is one interval from now, and so on.
    void set_interval(hrtime_t interval_ns);

  private:
    [[nodiscard]] bool take_look();
    [[nodiscard]] int take_signal();

    HeldSignals held_;
    Descriptor signals_;
    Descriptor timer_;
    bool watch_input_;
};

}  // namespace blkscope::top
