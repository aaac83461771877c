// A sequence lock: one writer at a time, which never waits, and any number of readers. A reader
// copies, and copies again if the writer wrote at the same time.
//
//     writer   odd | store ... store | even          (publish() stores)
//     reader   load seq, copy, load seq: both the same and even, or again
//
// Every field is moved atomically (publish, observe): stores release, and loads acquire. Such moves
// cost nothing extra on x86. No fence is needed, and the thread sanitizer does not support fences.
//
// Threads: one thread at a time calls write(); several writers need a lock of their own. Any thread
//          calls read().
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace blkscope {

/// Stores a field that only this thread writes.
template <class T>
inline void publish(T& field, T value) {
    std::atomic_ref<T>(field).store(value, std::memory_order_release);
}

/// Loads a field that another thread may be publishing.
template <class T>
inline T observe(const T& field) {
    return std::atomic_ref<T>(const_cast<T&>(field)).load(std::memory_order_acquire);
}

/// Returns when every earlier store of this process's threads is visible to the caller. The writer
/// pays nothing: the kernel interrupts the processors that run this process. A sandbox may refuse
/// membarrier(2). A store may then be late by the delay of a processor's store buffer, some tens of
/// nanoseconds.
///
/// Source: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED, Linux 4.14.
void make_stores_visible();

/// The lock itself: a counter that is odd during a write.
class Seqlock {
  public:
    /// The critical section of the writer: from construction to destruction.
    class [[nodiscard]] Writing {
      public:
        explicit Writing(std::atomic<uint32_t>& sequence)
            : sequence_(sequence), start_(sequence.load(std::memory_order_relaxed)) {
            sequence_.store(start_ + 1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // a clock is read after it
        }
        ~Writing() { sequence_.store(start_ + 2, std::memory_order_release); }
        Writing& operator=(Writing&&) = delete;

      private:
        std::atomic<uint32_t>& sequence_;
        uint32_t start_;
    };

    /// Begins a write, which ends with the returned object.
    Writing write() { return Writing(sequence_); }

    /// Returns the result of `copy` from a run that no write overlapped. `copy` reads with
    /// observe(), may run more than once, and may see torn data in a run that is repeated.
    template <class Copy>
    [[nodiscard]] auto read(Copy copy) const {
        for (;;) {
            const uint32_t before = sequence_.load(std::memory_order_acquire);
            if (before % 2 == 0) {
                auto result = copy();
                if (sequence_.load(std::memory_order_relaxed) == before) return result;
            }
            std::this_thread::yield();
        }
    }

    /// Returns when the writes that were in progress at the call have ended.
    void wait_for_writer() const {
        static_cast<void>(read([] { return 0; }));
    }

  private:
    std::atomic<uint32_t> sequence_{0};
};

}  // namespace blkscope
