// The signals that a tool answers to: being continued, and being told to end.
//
// A signal that ends the run is heeded between reports, so that what was printed is whole.
#pragma once

#include <sys/kstat.h>

#include <csignal>
#include <functional>
#include <initializer_list>

namespace blkscope::program {

/// The calls that a signal that ends the run interrupts.
enum class Interrupts {
    sleep,  // no others. A second signal of its kind ends the process at once: the reader of our
            // output may have stalled
    input   // reading from the terminal too
};

/// Handlers for SIGCONT and for the signals that end the run; a closed pipe is told by write(2)
/// instead. A signal that was ignored when the process started stays ignored. To be called once,
/// before anything else here.
void watch_signals(std::initializer_list<int> ending = {}, Interrupts what = Interrupts::sleep);

/// The signal that ends the run; 0: none so far.
[[nodiscard]] int ending_signal();

/// Whether the process was continued since the last call.
[[nodiscard]] bool take_continuation();

/// Sleeps until `wake`, or until a signal came that is to be answered. False: one came.
///
/// Units: nanoseconds of CLOCK_MONOTONIC.
[[nodiscard]] bool sleep_until(hrtime_t wake);

/// The same, but it sleeps on when the process goes on after a stop, and then calls `continued`.
/// False: a signal came that ends the run.
bool sleep_through(
    hrtime_t wake, const std::function<void()>& continued = [] {});

/// Lets `signal` have its default action on this process, even if it is held back. The process
/// ends, or it stops and the call returns when it goes on.
void suffer(int signal);

}  // namespace blkscope::program
