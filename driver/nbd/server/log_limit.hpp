// LogLimit: limits the log lines that clients can cause.
//
// A client that connects and fails in a loop must not fill a disk. After a burst of lines one line
// a second is written, with the number of lines left out.
//
// Threads: the control thread, or one worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace blkscope::nbd {

class LogLimit {
  public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr unsigned burst = 20;  // lines

    /// True if a line may be written at `now`, which never decreases.
    bool admit(Time now);

    /// The number of refused lines since the last call.
    uint64_t take_left_out() { return std::exchange(left_out_, 0); }

    /// Writes `blkscope: <line>` to standard error, unless the limit is reached.
    void print(std::string_view line) { print(line, std::chrono::steady_clock::now()); }
    /// The same at `now`, for a caller with a clock of its own.
    void print(std::string_view line, Time now);

  private:
    unsigned spent_ = 0;  // of the burst; one less each second
    Time given_back_{};
    uint64_t left_out_ = 0;
};

}  // namespace blkscope::nbd
