// Session: what a user and the devices make of the screen. Keys and looks go in, screens come out;
// no terminal, no clock.
#pragma once

#include <sys/kstat.h>

#include <optional>
#include <string>

#include "tools/top/model.hpp"
#include "tools/top/render.hpp"

namespace blkscope::top {

/// What a key asks of whoever runs the session.
enum class Answer {
    nothing,   // the key has no meaning
    draw,      // the screen has changed
    interval,  // the interval between looks has, too
    quit
};

/// The interval that `+` (longer) and `-` (shorter) lead to: 0.1 0.2 0.5 1 2 5 10 30 60 s.
[[nodiscard]] hrtime_t longer_interval(hrtime_t interval_ns);
[[nodiscard]] hrtime_t shorter_interval(hrtime_t interval_ns);

class Session {
  public:
    /// `nothing_there` is for the user to read when there is no device.
    Session(hrtime_t interval_ns, std::string nothing_there);

    /// Takes in what the devices did. A frozen screen does not change: it is shown when it thaws.
    void take(const Look& look);

    /// Tells the user of something that went wrong.
    void tell(std::string message);

    /// Obeys a key; arrows are j (down) and k (up).
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
