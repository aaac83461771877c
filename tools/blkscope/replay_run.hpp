// ReplayRun: sends the requests of a trace to a server, at their own times or so many at once.
//
//     open loop     each request at begin + (arrival - first arrival) / speed. The time is absolute,
//                   so a late request delays no later one, and an answer none at all.
//     closed loop   the next request when fewer than N are under way; the times do not matter.
//
// The end of the wait for a moment is spent spinning, because waking takes too long to be exact.
//
// Units:     nanoseconds.
// Ownership: borrows the trace; owns the connection.
// Threads:   the one that calls run(), which blocks until the end.
// Errors:    std::runtime_error if the connection is lost, with the reason.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/client/connect.hpp"
#include "driver/nbd/client/requester.hpp"
#include "tools/blkscope/replay_plan.hpp"
#include "trace/request.hpp"

namespace blkscope {

struct ReplayPace {
    double speed = 1;          // of an open loop
    uint32_t in_flight = 0;    // of a closed loop; 0: an open loop
    hrtime_t patience_ns = 0;  // for an answer
    uint64_t seed = 0;
};

/// The fate of a request of the trace.
struct Replayed {
    int64_t sent_ns = -1;  // since the begin; negative: never sent
    int64_t late_ns = 0;   // behind its time, in an open loop
    int64_t took_ns = -1;  // from the sending to the answer; negative: no answer
    uint32_t error = 0;    // the number in the answer
};

class ReplayRun final : private nbd::RequesterOwner {
  public:
    ReplayRun(const std::vector<trace::Request>& requests, nbd::RemoteConnection connection,
              const ReplayPace& pace);
    ReplayRun& operator=(ReplayRun&&) = delete;

    /// In the order of the trace. A signal that ends the run ends the sending.
    [[nodiscard]] std::vector<Replayed> run();

    /// When a request is due in an open loop, after the begin.
    [[nodiscard]] static int64_t due_ns(const trace::Request& request, const trace::Request& first,
                                        double speed);

  private:
    struct Sending : nbd::RemoteRequest {
        size_t number = 0;  // in the trace
        hrtime_t due = 0;   // ticks
    };

    /// The time of the next request.
    class Timer final : public Alarm {
      public:
        explicit Timer(ReplayRun& run) : run_(run) {}

      private:
        void due() override { run_.send_due(); }

        ReplayRun& run_;
    };

    void answered(nbd::RemoteRequest& request) override;
    void lost(std::string_view why) override;
    void send_due();
    [[nodiscard]] hrtime_t due_ticks(size_t number) const;
    void send_next(hrtime_t due);
    [[nodiscard]] bool is_done() const;
    void turn();

    const std::vector<trace::Request>& requests_;
    const ReplayPace pace_;
    const ReplayData data_;
    Ring ring_;
    Timer timer_{*this};
    std::deque<Sending> memory_;  // outlives the requester, whose socket reads it
    std::vector<Sending*> free_;
    std::optional<nbd::Requester> requester_;
    hrtime_t begin_ = 0;  // ticks
    size_t next_ = 0;     // the next request
    bool stopped_ = false;
    std::string failure_;
    std::vector<Replayed> outcome_;
};

}  // namespace blkscope
