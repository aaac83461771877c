// Signals that wait: for a thread that must not be interrupted, or that has threads to create.
//
// Ownership: the calling thread's mask, which a thread that it creates inherits.
// Threads:   an object belongs to the thread that created it.
// Errors:    none.
// Source:    pthread_sigmask(3).
#pragma once

#include <csignal>
#include <initializer_list>

namespace blkscope {

[[nodiscard]] inline sigset_t signal_set(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals) sigaddset(&set, signal);
    return set;
}

[[nodiscard]] inline sigset_t all_signals() {
    sigset_t set;
    sigfillset(&set);
    return set;
}

/// Blocks these signals, beside those that are blocked already. The end of the object restores the
/// mask.
class BlockedSignals {
  public:
    explicit BlockedSignals(const sigset_t& signals) {
        pthread_sigmask(SIG_BLOCK, &signals, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals& operator=(BlockedSignals&&) = delete;

    /// The mask before, for ppoll(2) and its like.
    [[nodiscard]] const sigset_t& before() const { return before_; }

  private:
    sigset_t before_{};
};

}  // namespace blkscope
