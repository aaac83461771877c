// LogLimit: what clients may make the server say.
//
// A client that connects and errs in a loop must not fill a disk with lines: after a burst they
// come one a second, and the next one tells how many were left out.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace blkscope::nbd {

class LogLimit {
  public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr unsigned burst = 20;  // lines

    /// Whether a line may be written at `now`, which does not go back.
    bool admit(Time now);

    /// Lines that were not admitted since the last call.
    uint64_t take_left_out();

    /// Writes `blkscope: <line>` to standard error, if it may.
    void print(std::string_view line);
    /// The same at `now`, for a caller with a clock of its own.
    void print(std::string_view line, Time now);

  private:
    unsigned spent_ = 0;  // of the burst; one is given back each second
    Time given_back_{};
    uint64_t left_out_ = 0;
};

}  // namespace blkscope::nbd
