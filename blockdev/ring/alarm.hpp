// Alarm: a moment at which a ring's worker calls an object. Alarms: all alarms of one ring.
//
//     set(alarm, when) ─▶ Ring::wait() sleeps until the earliest alarm ─▶ dispatch() ─▶ alarm.due()
//                                             │
//                                             └─ precise: the last `lead_ns` are spent spinning
//
// A ring asks the kernel for one timeout only, whatever the number of its alarms. Waking a thread
// takes some tens of microseconds. A precise alarm therefore ends the sleep earlier, and the worker
// spins until the moment. A ring that may not busy-wait never spins.
//
// Units:     ticks of the kernel's clock.
// Ownership: the list borrows an alarm from its first set() until the alarm is destroyed, before the
//            ring.
// Threads:   the ring's worker. When the worker has ended, any one thread may destroy alarms.
// Errors:    none.
#pragma once

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "base/clock.hpp"

namespace blkscope {

class Alarms;

class Alarm {
  public:
    static constexpr hrtime_t never = std::numeric_limits<hrtime_t>::max();

    /// When due() is called; `never` if it is not set.
    [[nodiscard]] hrtime_t when() const { return when_; }

  protected:
    /// The moment has come, and the alarm is no longer set.
    virtual void due() = 0;

    /// Unsets the alarm.
    virtual ~Alarm();
    Alarm& operator=(Alarm&&) = delete;

  private:
    friend class Alarms;

    hrtime_t when_ = never;
    bool precise_ = false;
    Alarms* list_ = nullptr;
};

class Alarms {
  public:
    /// How long before a precise alarm the sleep ends.
    static constexpr hrtime_t lead_ns = 60'000;

    /// The earliest alarm.
    struct Next {
        hrtime_t when = Alarm::never;
        bool precise = false;
    };

    /// True if the list borrows no alarm.
    [[nodiscard]] bool empty() const { return alarms_.empty(); }

    /// Sets the moment, which replaces an earlier one; `never` unsets the alarm.
    void set(Alarm& alarm, hrtime_t when, bool precise) {
        assert(when > 0);
        assert(alarm.list_ == nullptr || alarm.list_ == this);
        if (alarm.list_ == nullptr) {
            if (when == Alarm::never) return;
            alarm.list_ = this;
            alarms_.push_back(&alarm);
        }
        alarm.when_ = when;
        alarm.precise_ = precise;
    }

    /// Forgets an alarm of the list.
    void remove(Alarm& alarm) {
        [[maybe_unused]] const auto removed = std::erase(alarms_, &alarm);
        assert(removed == 1);
        alarm.list_ = nullptr;
        alarm.when_ = Alarm::never;
    }

    [[nodiscard]] Next next() const {
        Next next;
        for (const Alarm* alarm : alarms_) {
            if (alarm->when_ < next.when) next = {alarm->when_, alarm->precise_};
        }
        return next;
    }

    /// Calls due() of all alarms that are due at `now`, which may set them again. False: none was.
    bool call_due(hrtime_t now) {
        bool any = false;
        // By index: a call may add an alarm, or destroy another one. An alarm that moves to an
        // earlier place is called in the next turn.
        for (size_t i = 0; i < alarms_.size(); ++i) {
            Alarm& alarm = *alarms_[i];
            if (alarm.when_ > now) continue;
            alarm.when_ = Alarm::never;
            alarm.due();
            any = true;
        }
        return any;
    }

  private:
    std::vector<Alarm*> alarms_;
};

inline Alarm::~Alarm() {
    if (list_ != nullptr) list_->remove(*this);
}

}  // namespace blkscope
