#include "tools/program/signals.hpp"

#include <poll.h>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"

namespace blkscope::program {
namespace {

volatile std::sig_atomic_t continued = 0;
volatile std::sig_atomic_t ending = 0;
volatile std::sig_atomic_t endings = 0;
sigset_t watched;

void note_continuation(int /*signal*/) {
    continued = 1;
}

void note_end(int signal) {
    ending = signal;
    endings = endings + 1;
}

void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
}

void watch(int signal, void (*handler)(int), int flags) {
    handle(signal, handler, flags);
    sigaddset(&watched, signal);
}

}  // namespace

// SA_RESTART: sleeps are never restarted, and no other call is to be interrupted.
void watch_signals(std::initializer_list<int> ending_signals, Interrupts what) {
    const int flags = what == Interrupts::input     ? 0
                      : what == Interrupts::counted ? SA_RESTART
                                                    : SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigemptyset(&watched);
    watch(SIGCONT, note_continuation, SA_RESTART);
    for (const int signal : ending_signals) {
        struct sigaction inherited {};
        sigaction(signal, nullptr, &inherited);
        // A shell without job control and nohup(1) start programs with ignored signals.
        if (inherited.sa_handler == SIG_IGN) continue;
        watch(signal, note_end, flags);
    }
    handle(SIGPIPE, SIG_IGN, 0);
    handle(SIGXFSZ, SIG_IGN, 0);
}

int ending_signal() {
    return ending;
}

int ending_signals() {
    return endings;
}

bool take_continuation() {
    const bool taken = continued != 0;
    continued = 0;
    return taken;
}

bool sleep_until(hrtime_t wake) {
    // No signal comes between the check for one and the sleep, which unblocks them.
    const BlockedSignals blocked(watched);
    while (continued == 0 && ending == 0) {
        const hrtime_t left = wake - gethrtime();
        if (left <= 0) return true;
        const timespec time{.tv_sec = left / ns_per_s, .tv_nsec = left % ns_per_s};
        ppoll(nullptr, 0, &time, &blocked.before());
    }
    return false;
}

bool sleep_through(hrtime_t wake, const std::function<void()>& when_continued) {
    while (!sleep_until(wake)) {
        if (ending_signal() != 0) return false;
        if (take_continuation()) when_continued();
    }
    return true;
}

void suffer(int signal) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, &before);
    const sigset_t one = signal_set({signal});
    sigset_t mask;
    raise(signal);  // stays blocked until the next line, if it was blocked
    pthread_sigmask(SIG_UNBLOCK, &one, &mask);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    sigaction(signal, &before, nullptr);
}

}  // namespace blkscope::program
