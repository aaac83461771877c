// Posted: completions that other threads have for a worker, and the event that wakes the worker.
//
//     any thread:  post() ── append to the list ── the first one signals the event
//     worker:      its ring reads the event ── take_over() moves the list to the worker
//
// Ownership: borrows each completion until take_over() has moved it to the worker's list.
// Threads:   any for post() and wake(); all other functions are the worker's.
// Errors:    the constructor throws std::runtime_error.
// Source:    eventfd(2).
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <mutex>

#include "blockdev/ring/completion.hpp"
#include "blockdev/ring/kernel.hpp"
#include "blockdev/ring/uring.hpp"

namespace blkscope {

class Posted final : private Completion {
  public:
    explicit Posted(Kernel& kernel);
    ~Posted();
    Posted& operator=(Posted&&) = delete;

    void post(Completion& completion, int32_t result);
    void wake() { kernel_.signal_event(event_); }

    /// Whether no operation of the worker's ring watches the event; then watch() prepares one.
    [[nodiscard]] bool unwatched() const { return !watched_; }
    void watch(io_uring_sqe& entry);

    /// Moves all posted completions behind the members of `list`.
    void take_over(CompletionList& list);

  private:
    void complete(int32_t) override {
        assert(watched_);
        watched_ = false;
    }

    Kernel& kernel_;
    int event_;
    bool watched_ = false;
    uint64_t count_ = 0;  // the kernel writes the event's value here; nothing reads it
    std::atomic<bool> any_{false};
    std::mutex mutex_;
    CompletionList list_;
};

}  // namespace blkscope
