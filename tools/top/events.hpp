// Events: the loop waits for the next look, a key or a signal in one poll.
//
// The signals are blocked and read from a descriptor. Therefore no signal interrupts a look or a
// drawing, and no library handles a signal itself.
#pragma once

#include <sys/kstat.h>

#include <csignal>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"

namespace blkscope::top {

/// Blocks signals while the object exists, except those that were ignored when the process started.
/// The destructor restores the previous mask and actions.
class HeldSignals {
  public:
    explicit HeldSignals(std::initializer_list<int> signals);
    ~HeldSignals();
    HeldSignals& operator=(HeldSignals&&) = delete;
    [[nodiscard]] const sigset_t& all() const { return all_; }

  private:
    sigset_t all_{};
    sigset_t mask_before_{};
    std::vector<std::pair<int, struct sigaction>> actions_before_;
};

/// The events since the last wait; several are possible.
struct Event {
    bool look = false;     // the next look is due
    bool input = false;    // standard input has bytes, or has ended
    bool hung_up = false;  // standard input has no other end any more
    int signal = 0;        // one of the watched signals; 0: none
};

class Events {
  public:
    /// Blocks `signals`, except those that were ignored at the start, and starts the timer. The
    /// destructor closes the descriptors and restores the signals.
    ///
    /// Errors: throws std::system_error.
    Events(std::initializer_list<int> signals, hrtime_t interval_ns, bool watch_input);

    /// Sleeps until an event. Looks that were missed meanwhile count as one look.
    [[nodiscard]] Event wait();

    /// The next look is one interval from now; further looks follow at that interval.
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
