#include "tools/top/events.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "base/throw_errno.hpp"

namespace blkscope::top {
namespace {

int checked(int result, const char* what) {
    if (result < 0) throw_errno(what);
    return result;
}

bool is_ignored(int signal) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    return action.sa_handler == SIG_IGN;
}

void never_run(int) {}

int watch(const sigset_t& signals) {
    return checked(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), "top: signalfd");
}

}  // namespace

HeldSignals::HeldSignals(std::initializer_list<int> signals) {
    sigemptyset(&all_);
    for (const int signal : signals) {
        if (!is_ignored(signal)) sigaddset(&all_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &all_, &mask_before_);
    // curses ignores a SIGTSTP of the default action while it draws, and a blocked SIGTSTP is then
    // lost. If the signal has a handler, curses does not change the action.
    struct sigaction action {};
    action.sa_handler = never_run;
    for (const int signal : signals) {
        if (sigismember(&all_, signal) == 0) continue;
        struct sigaction before {};
        sigaction(signal, &action, &before);
        actions_before_.emplace_back(signal, before);
    }
}

HeldSignals::~HeldSignals() {
    for (const auto& [signal, action] : actions_before_) sigaction(signal, &action, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

Events::Events(std::initializer_list<int> signals, hrtime_t interval_ns, bool watch_input)
    : held_(signals),
      signals_(watch(held_.all())),
      timer_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                     "top: timerfd_create")),
      watch_input_(watch_input) {
    set_interval(interval_ns);
}

Event Events::wait() {
    const int input = watch_input_ ? STDIN_FILENO : -1;  // poll(2) skips a negative descriptor
    std::array<pollfd, 3> polled{pollfd{signals_.get(), POLLIN, 0}, pollfd{timer_.get(), POLLIN, 0},
                                 pollfd{input, POLLIN, 0}};
    while (poll(polled.data(), polled.size(), -1) < 0) {
        if (errno != EINTR) throw_errno("top: poll");
    }
    Event event;
    event.signal = take_signal();
    event.look = take_look();
    event.input = (polled[2].revents & POLLIN) != 0;
    event.hung_up = (polled[2].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    return event;
}

void Events::set_interval(hrtime_t interval_ns) {
    itimerspec period{};
    period.it_interval = {.tv_sec = interval_ns / ns_per_s, .tv_nsec = interval_ns % ns_per_s};
    period.it_value = period.it_interval;
    checked(timerfd_settime(timer_.get(), 0, &period, nullptr), "top: timerfd_settime");
}

bool Events::take_look() {
    uint64_t expirations = 0;
    return read(timer_.get(), &expirations, sizeof(expirations)) == sizeof(expirations);
}

int Events::take_signal() {
    signalfd_siginfo info{};
    const ssize_t got = read(signals_.get(), &info, sizeof(info));
    return got == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace blkscope::top
