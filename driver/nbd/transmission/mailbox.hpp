// Mailbox: messages from other threads to a worker, kept until the worker reads them.
//
// Ownership: owns the messages.
// Threads:   send() any; has_mail() and take() the worker's.
// Errors:    none.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/transmission/arrival.hpp"

namespace blkscope::nbd {

struct Mail {
    std::vector<Arrival> arrivals;
    std::vector<uint64_t> endings;  // serials of exports whose connections are to be closed
    std::vector<std::unique_ptr<Export>> closing;
    std::vector<std::packaged_task<void()>> calls;
    bool stop = false;
};

class Mailbox {
  public:
    explicit Mailbox(Ring& ring) : ring_(ring) {}

    /// Calls `change` to add a message, and wakes the worker.
    template <class Change>
    void send(Change change) {
        {
            const std::lock_guard lock(mutex_);
            change(mail_);
            has_mail_.store(true, std::memory_order_release);
        }
        ring_.wake();
    }

    [[nodiscard]] bool has_mail() const { return has_mail_.load(std::memory_order_acquire); }

    Mail take() {
        const std::lock_guard lock(mutex_);
        has_mail_.store(false, std::memory_order_relaxed);
        return std::exchange(mail_, {});
    }

  private:
    Ring& ring_;
    std::mutex mutex_;
    Mail mail_;
    std::atomic<bool> has_mail_{false};
};

}  // namespace blkscope::nbd
