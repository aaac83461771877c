// Exclusive use: one thread at a time uses a thing, and the next thread waits.
//
//     lock ── wait while taken ── take ── unlock ──▶ the use ──▶ lock ── end ── announce ── unlock
//
// The mutex guards the marks only, and is unlocked during the use. A use may therefore call the
// functions of a provider.
//
// Threads: any, under the caller's mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace blkscope::kstat {

/// The thread that uses a thing, if any.
class Exclusive {
  public:
    [[nodiscard]] bool is_taken() const { return user_ != std::thread::id(); }
    /// True if the calling thread is the user.
    [[nodiscard]] bool is_mine() const { return user_ == std::this_thread::get_id(); }
    void take() { user_ = std::this_thread::get_id(); }
    void end() { user_ = {}; }

  private:
    std::thread::id user_;
};

/// Waits until another thread changed what the mutex guards. A condition variable is not enough: in
/// a child of fork() it still counts the parent's waiters.
class Changes {
  public:
    /// Unlocks, waits for the next announce(), and locks again.
    void wait(std::unique_lock<std::mutex>& lock) {
        const uint32_t seen = count_;
        lock.unlock();
        count_.wait(seen);
        lock.lock();
    }

    void announce() {
        ++count_;
        count_.notify_all();
    }

  private:
    std::atomic<uint32_t> count_{0};
};

}  // namespace blkscope::kstat
