#include "tools/iostat/signals.hpp"

#include <poll.h>

#include <initializer_list>

namespace blkscope::iostat {

namespace {

constexpr hrtime_t ns_per_s = 1'000'000'000;

volatile std::sig_atomic_t continued = 0;
volatile std::sig_atomic_t ending = 0;

void note_continuation(int /*signal*/) {
    continued = 1;
}

void note_end(int signal) {
    ending = signal;
}

void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
}

// Keeps the signals away between the look for one and the sleep, which lets them in again.
class Hold {
  public:
    Hold() {
        sigset_t held;
        sigemptyset(&held);
        for (const int signal : {SIGCONT, SIGINT, SIGTERM}) sigaddset(&held, signal);
        pthread_sigmask(SIG_BLOCK, &held, &before_);
    }
    ~Hold() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    [[nodiscard]] const sigset_t& before() const { return before_; }

  private:
    sigset_t before_{};
};

}  // namespace

// SA_RESTART: only the sleep is to be cut short, which never is restarted.
void watch_signals() {
    handle(SIGCONT, note_continuation, SA_RESTART);
    for (const int signal : {SIGINT, SIGTERM}) {
        struct sigaction inherited {};
        sigaction(signal, nullptr, &inherited);
        // Whoever started us in the background without job control does not want us to hear it.
        if (inherited.sa_handler == SIG_IGN) continue;
        handle(signal, note_end, SA_RESTART | static_cast<int>(SA_RESETHAND));
    }
    handle(SIGPIPE, SIG_IGN, 0);
}

int ending_signal() {
    return ending;
}

bool take_continuation() {
    const bool taken = continued != 0;
    continued = 0;
    return taken;
}

bool sleep_until(hrtime_t wake) {
    const Hold hold;
    while (continued == 0 && ending == 0) {
        const hrtime_t left = wake - gethrtime();
        if (left <= 0) return true;
        const timespec time{.tv_sec = left / ns_per_s, .tv_nsec = left % ns_per_s};
        ppoll(nullptr, 0, &time, &hold.before());
    }
    return false;
}

void die_of(int signal) {
    handle(signal, SIG_DFL, 0);
    raise(signal);
}

}  // namespace blkscope::iostat
