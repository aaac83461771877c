// A sequence lock. One writer at a time writes and never waits. Readers copy, and copy again if a
// write fell into the copy.
//
//     writer   odd | store ... store | even          (kstat::publish stores)
//     reader   load seq, copy, load seq: both the same and even, or again
//
// Every field is moved atomically (publish, observe). Stores release and loads acquire. On x86 this
// is free and orders them without a fence. The thread sanitizer does not support fences.
//
// Threads: write() by one thread at a time; several writers need a lock of their own. read() by
//          any.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace blkscope::kstat {

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

/// Returns when the caller sees every store that this process's threads executed before the call.
/// The writer pays nothing: the kernel interrupts the processors that run this process. Without
/// membarrier(2), which a sandbox may refuse, stores may be late. The delay is that of a
/// processor's store buffer, some tens of nanoseconds.
///
/// Source: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED, Linux 4.14.
void make_stores_visible();

class Seqlock {
  public:
    /// The critical section of the writer: from construction to destruction.
    class [[nodiscard]] Writing {
      public:
        explicit Writing(std::atomic<uint32_t>& sequence)
            : sequence_(sequence), start_(sequence.load(std::memory_order_relaxed)) {
            sequence_.store(start_ + 1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // a clock is read after the store
        }
        ~Writing() { sequence_.store(start_ + 2, std::memory_order_release); }
        Writing(const Writing&) = delete;
        Writing& operator=(const Writing&) = delete;

      private:
        std::atomic<uint32_t>& sequence_;
        uint32_t start_;
    };

    Writing write() { return Writing(sequence_); }

    /// Returns the result of a `copy` into which no write fell. `copy` reads with kstat::observe
    /// and may run more than once.
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

    /// Returns when the writes that were under way have ended.
    void wait_for_writer() const {
        static_cast<void>(read([] { return 0; }));
    }

  private:
    std::atomic<uint32_t> sequence_{0};
};

}  // namespace blkscope::kstat
