// Posted: completions that other threads have for a worker, and the event that wakes it up.
//
// Ownership: borrows each completion until take_over() has moved it to the worker's list.
// Threads:   post() and wake() any; the rest the worker's only.
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
    Posted(const Posted&) = delete;
    Posted& operator=(const Posted&) = delete;

    void post(Completion& completion, int32_t result);
    void wake() { kernel_.signal_event(event_); }

    /// Whether the event has to be watched again: by an operation on the worker's ring.
    [[nodiscard]] bool unwatched() const { return !watched_; }
    void watch(io_uring_sqe& entry);

    /// Moves what was posted behind what is in the list.
    void take_over(CompletionList& list);

  private:
    void complete(int32_t) override {
        assert(watched_);
        watched_ = false;
    }

    Kernel& kernel_;
    int event_;
    bool watched_ = false;
    uint64_t count_ = 0;  // what the event was read as
    std::atomic<bool> any_{false};
    std::mutex mutex_;
    CompletionList list_;
};

}  // namespace blkscope
