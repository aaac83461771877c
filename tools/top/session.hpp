// Session: turns keys and looks into screens. A Session needs neither a terminal nor a clock.
#pragma once

#include <sys/kstat.h>

#include <optional>
#include <string>
#include <utility>

#include "tools/top/model.hpp"
#include "tools/top/render.hpp"

namespace blkscope::top {

/// The action that a key asks of the session's caller.
enum class Answer {
    nothing,   // none: the key has no meaning
    draw,      // draw: the screen has changed
    interval,  // draw, and set the new interval between looks
    quit
};

/// The next interval for `+` (longer) and `-` (shorter): 0.1 0.2 0.5 1 2 5 10 30 60 s.
[[nodiscard]] hrtime_t longer_interval(hrtime_t interval_ns);
[[nodiscard]] hrtime_t shorter_interval(hrtime_t interval_ns);

class Session {
  public:
    /// `nothing_there` is the message to the user if there is no device.
    Session(hrtime_t interval_ns, std::string nothing_there);

    /// Adds a look. A frozen screen does not change; after it is unfrozen, it shows the look.
    void take(const Look& look) { live_.take(look); }

    /// Shows a failure to the user.
    void tell(std::string message) { live_.tell(std::move(message)); }

    /// Obeys a key; the arrow keys are j (down) and k (up).
    Answer press(char key);

    [[nodiscard]] Screen render(Size size, Style style) const;

    [[nodiscard]] hrtime_t interval_ns() const { return view_.interval_ns; }
    [[nodiscard]] bool frozen() const { return frozen_.has_value(); }

  private:
    [[nodiscard]] const Model& shown() const { return frozen_ ? *frozen_ : live_; }
    void freeze_or_thaw();
    void move_selection(int by);
    void select(size_t position);
    Answer set_interval(hrtime_t interval_ns);

    View view_;
    Model live_;
    std::optional<Model> frozen_;
};

}  // namespace blkscope::top
