// VirtualDevice: a device in virtual time. Queue, model and accounting are those of a real device.
// A list of ends replaces clock, ring and backing.
//
//     arrive(now) ─▶ DeviceQueue ─▶ ServiceModel ─▶ end at stay.end ─▶ next_end(), end()
//                       └────────── kstat_io_t ──────────┘
//
// Units:     nanoseconds, which are the ticks of its kstat_io_t.
// Ownership: owns everything.
// Threads:   one.
#pragma once

#include <sys/kstat.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include "blockdev/model/limits.hpp"
#include "blockdev/model/service_model.hpp"
#include "blockdev/queue/device_queue.hpp"
#include "kstat/registry/queues.hpp"

namespace blkscope::queueing {

/// One request of a client.
struct Request {
    Buf::Op op = Buf::Op::read;
    uint64_t offset = 0;
    uint64_t bytes = 4096;
};

/// The moments of a request that has ended.
struct Past {
    hrtime_t arrived = 0;
    hrtime_t started = 0;
    hrtime_t begun = 0;  // a server began with it
    hrtime_t ended = 0;
};

class VirtualDevice {
  public:
    static constexpr uint64_t size_bytes = uint64_t{1} << 40;
    static constexpr hrtime_t never = std::numeric_limits<hrtime_t>::max();

    VirtualDevice(const model::ModelSpec& spec, uint32_t depth)
        : queue_(depth), model_(spec, size_bytes, depth, 1) {}
    VirtualDevice(const model::ModelSpec& spec, uint32_t depth, const model::LimitSpec& limits)
        : VirtualDevice(spec, depth) {
        limits_.emplace(limits, 0);
    }

    void arrive(hrtime_t now, const Request& request) {
        Buf& buf = *new_buf();
        buf.op = request.op;
        buf.offset = request.offset;
        buf.bcount = request.bytes;
        buf.state = Buf::State::waiting;
        buf.queued = now;
        kstat::waitq_enter(io_, now);
        queue_.enter(buf);
        start(now);
    }

    /// The moment at which the next request ends; never if none runs.
    [[nodiscard]] hrtime_t next_end() const {
        return running_.empty() ? never : running_.top().stay.end;
    }

    /// Ends that request.
    Past end() {
        const End end = running_.top();
        running_.pop();
        Buf& buf = *end.buf;
        const hrtime_t now = end.stay.end;
        kstat::runq_exit(io_, now);
        ++io_.reads;
        queue_.ended(buf);
        model_.ended(end.stay, now);
        const Past past{buf.queued, buf.started, end.stay.begin, now};
        free_.push_back(&buf);
        start(now);
        return past;
    }

    /// The moment at which a request that lacks tokens has them; never if there is none.
    [[nodiscard]] hrtime_t next_tokens() const {
        return limits_ ? limits_->again_at().value_or(never) : never;
    }
    void start_again(hrtime_t now) { start(now); }
    [[nodiscard]] const model::Limits& limits() const { return *limits_; }

    /// The counters as a reader would get them at `now`.
    [[nodiscard]] kstat_io_t snapshot(hrtime_t now) const {
        kstat_io_t copy = io_;
        kstat::detail::charge(kstat::detail::waitq(copy), now);
        kstat::detail::charge(kstat::detail::runq(copy), now);
        return copy;
    }
    [[nodiscard]] bool idle() const { return queue_.idle(); }

  private:
    struct End {
        model::Stay stay;
        uint64_t number;  // of two at one moment, the one that was started first
        Buf* buf;

        bool operator<(const End& other) const {
            return stay.end != other.stay.end ? stay.end > other.stay.end : number > other.number;
        }
    };

    Buf* new_buf() {
        if (free_.empty()) return &bufs_.emplace_back();
        Buf* buf = free_.back();
        free_.pop_back();
        return buf;
    }

    void start(hrtime_t now) {
        model::Limits* const limits = limits_ ? &*limits_ : nullptr;
        if (limits != nullptr) queue_.begin_pass(*limits, now);
        for (auto turn = queue_.next(limits); turn.buf != nullptr; turn = queue_.next(limits)) {
            Buf& buf = *turn.buf;
            buf.state = Buf::State::running;
            buf.started = now;
            kstat::waitq_to_runq(io_, now);
            const model::Stay stay = model_.start(buf, limits_ ? now : buf.queued);
            assert(stay.begin >= now);
            running_.push({stay, started_++, &buf});
        }
    }

    DeviceQueue queue_;
    model::ServiceModel model_;
    std::optional<model::Limits> limits_;
    kstat_io_t io_{};
    std::priority_queue<End> running_;
    uint64_t started_ = 0;
    std::deque<Buf> bufs_;
    std::vector<Buf*> free_;
};

/// Runs requests that arrive by themselves: `next(now)` is the time until the next one, and
/// `request()` the request. Calls `ended(past)` for each. Returns the moment of the last end.
template <class Next, class Make, class Ended>
hrtime_t run_open(VirtualDevice& device, uint64_t count, Next next, Make make, Ended ended) {
    hrtime_t arrival = next();
    hrtime_t now = 0;
    uint64_t arrived = 0;
    while (arrived < count || !device.idle()) {
        const hrtime_t end = device.next_end();
        const hrtime_t tokens = device.next_tokens();
        if (arrived < count && arrival < std::min(end, tokens)) {
            now = arrival;
            device.arrive(now, make());
            arrival += next();
            ++arrived;
        } else if (tokens < end) {
            now = tokens;
            device.start_again(now);
        } else {
            now = end;
            ended(device.end());
        }
    }
    return now;
}

}  // namespace blkscope::queueing
