// The signals that iostat answers to: being continued, and being told to end.
//
// A signal that ends the run is heeded between reports, so that what was printed is whole. A second
// one of its kind ends the process at once, in case that our output's reader has stalled.
#pragma once

#include <sys/kstat.h>

#include <csignal>

namespace blkscope::iostat {

/// Handlers for SIGCONT, SIGINT, SIGTERM; a closed pipe is told by write(2) instead. To be called
/// once, before anything else here.
void watch_signals();

/// The signal that ends the run; 0: none so far.
[[nodiscard]] int ending_signal();

/// Whether the process was continued since the last call.
[[nodiscard]] bool take_continuation();

/// Sleeps until `wake`, or until a signal came that is to be answered. False: one came.
///
/// Units: nanoseconds of CLOCK_MONOTONIC.
[[nodiscard]] bool sleep_until(hrtime_t wake);

/// Ends the process as if `signal` had never been handled.
void die_of(int signal);

}  // namespace blkscope::iostat
