// Mailbox: what other threads ask of a worker, until it looks.
//
// Ownership: owns the mail.
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
#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"

namespace blkscope::nbd {

struct Mail {
    struct Arrival {
        Export* exp;
        Terms terms;
        int socket;
        std::unique_ptr<TlsSession> tls;
    };

    std::vector<Arrival> arrivals;
    std::vector<uint64_t> endings;  // serials of exports whose clients are to go
    std::vector<std::unique_ptr<Export>> closing;
    std::vector<std::packaged_task<void()>> calls;
    bool stop = false;
};

class Mailbox {
  public:
    explicit Mailbox(Ring& ring) : ring_(ring) {}

    /// Has `change` put something into the mail, and wakes the worker.
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
