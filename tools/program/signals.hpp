// The signals that a tool handles: SIGCONT, and the signals that end the run.
//
// A signal that ends the run takes effect between reports, so that printed reports are complete.
#pragma once

#include <sys/kstat.h>

#include <csignal>
#include <functional>
#include <initializer_list>

namespace blkscope::program {

/// The calls that a signal that ends the run interrupts.
enum class Interrupts {
    sleep,   // sleeps only. A second signal of the same number ends the process at once: the reader
             // of our output may have stalled
    input,   // sleeps, and reading from the terminal
    counted  // sleeps only. Each signal is counted, and none ends the process
};

/// Installs handlers for SIGCONT and for the signals that end the run. write(2) reports a closed
/// pipe, and a file at the limit of sizes, instead of a signal. A signal that was ignored when the
/// process started stays ignored. Must be called once, before any other function of this file.
void watch_signals(std::initializer_list<int> ending = {}, Interrupts what = Interrupts::sleep);

/// The last signal that ends the run; 0 if none has come.
[[nodiscard]] int ending_signal();

/// The number of signals that have come to end the run.
[[nodiscard]] int ending_signals();

/// Whether the process was continued since the last call.
[[nodiscard]] bool take_continuation();

/// Sleeps until `wake`, or until a handled signal comes. False if a signal came.
///
/// Units: nanoseconds of CLOCK_MONOTONIC.
[[nodiscard]] bool sleep_until(hrtime_t wake);

/// Sleeps until `wake`. When the process continues after a stop, calls `continued` and sleeps on.
/// False if a signal came that ends the run.
bool sleep_through(
    hrtime_t wake, const std::function<void()>& continued = [] {});

/// Gives `signal` its default action on this process, even if the signal is blocked. The process
/// ends, or it stops and the call returns when the process continues.
void suffer(int signal);

}  // namespace blkscope::program
