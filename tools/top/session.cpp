#include "tools/top/session.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"

namespace blkscope::top {
namespace {

constexpr std::array intervals_ns{ns_per_s / 10, ns_per_s / 5,  ns_per_s / 2,
                                  ns_per_s,      2 * ns_per_s,  5 * ns_per_s,
                                  10 * ns_per_s, 30 * ns_per_s, 60 * ns_per_s};

}  // namespace

hrtime_t longer_interval(hrtime_t interval_ns) {
    const auto found = std::ranges::upper_bound(intervals_ns, interval_ns);
    return found == intervals_ns.end() ? interval_ns : *found;
}

hrtime_t shorter_interval(hrtime_t interval_ns) {
    const auto found = std::ranges::lower_bound(intervals_ns, interval_ns);
    return found == intervals_ns.begin() ? interval_ns : *(found - 1);
}

Session::Session(hrtime_t interval_ns, std::string nothing_there) {
    view_.interval_ns = interval_ns;
    view_.nothing_there = std::move(nothing_there);
}

Answer Session::press(char key) {
    if (key == 'q' || key == 'Q') return Answer::quit;
    if (std::exchange(view_.help, false)) return Answer::draw;  // any key closes the help
    if (key >= '1' && key <= '9') {
        select(static_cast<size_t>(key - '1'));
        return Answer::draw;
    }
    switch (key) {
        case ' ':
            freeze_or_thaw();
            return Answer::draw;
        case 'h':
        case '?':
            view_.help = true;
            return Answer::draw;
        case 'c':
            view_.clients = !view_.clients;
            return Answer::draw;
        case 's':
            view_.sort = next_sort_key(view_.sort);
            return Answer::draw;
        case 'j':
            move_selection(1);
            return Answer::draw;
        case 'k':
            move_selection(-1);
            return Answer::draw;
        case '+':
            return set_interval(longer_interval(view_.interval_ns));
        case '-':
            return set_interval(shorter_interval(view_.interval_ns));
        default:
            return Answer::nothing;
    }
}

void Session::freeze_or_thaw() {
    if (frozen_) {
        frozen_.reset();
    } else {
        frozen_ = live_;
    }
    view_.frozen = frozen_.has_value();
}

void Session::move_selection(int by) {
    const auto devices = sorted_devices(shown(), view_.sort);
    if (devices.empty()) return;
    const auto last = static_cast<int>(devices.size()) - 1;
    const int position = static_cast<int>(selected_position(devices, view_)) + by;
    select(static_cast<size_t>(std::clamp(position, 0, last)));
}

void Session::select(size_t position) {
    const auto devices = sorted_devices(shown(), view_.sort);
    if (position < devices.size()) view_.selected = devices[position]->last.device;
}

Answer Session::set_interval(hrtime_t interval_ns) {
    if (interval_ns == view_.interval_ns) return Answer::nothing;
    view_.interval_ns = interval_ns;
    return Answer::interval;
}

Screen Session::render(Size size, Style style) const {
    return top::render(shown(), view_, size, style);
}

}  // namespace blkscope::top
