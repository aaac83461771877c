// ClosingExports: exports whose clients are being disconnected, and those that are being destroyed.
//
//     close() ─▶ clients close ─▶ visitors close ─▶ last flush ─▶ destroyed
//                   └─ after close_seconds_max, clients that hold it up are closed
//
// A turn begins one flush and destroys one export: a thousand exports that go must not stop the clients of others.
//
// Ownership: owns the exports passed to close().
// Threads:   the worker's; all_flushed() any.
// Errors:    a failed last flush is logged on standard error and makes all_flushed() false.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/nbd/server/export.hpp"
#include "driver/nbd/transmission/sessions.hpp"

namespace blkscope::nbd {

class ClosingExports {
  public:
    explicit ClosingExports(Sessions& sessions) : sessions_(sessions) {}
    ~ClosingExports();
    ClosingExports& operator=(ClosingExports&&) = delete;

    /// Closes the connections to the export with this serial, without waiting.
    void close_clients(uint64_t export_serial);
    /// The same. When no worker has clients of the export, flushes its backing and destroys it.
    void close(std::unique_ptr<Export> exp);

    /// Starts a flush that is possible now and destroys a flushed export.
    void advance();
    /// There is more of that to do, without a completion to wait for.
    [[nodiscard]] bool has_more() const { return has_more_; }
    /// Call once a second.
    void tick();

    /// No export is being closed.
    [[nodiscard]] bool empty() const { return closing_.empty(); }
    /// False once an export was destroyed with data that could not be flushed.
    [[nodiscard]] bool all_flushed() const { return all_flushed_.load(); }

  private:
    struct Ending {
        uint64_t export_serial;
        unsigned seconds;
    };

    /// An export that is being closed, and its last flush.
    struct Closing : Buf {
        ClosingExports* owner = nullptr;
        std::unique_ptr<Export> exp;
        bool flushing = false;
        bool flushed = false;
    };

    [[nodiscard]] bool may_be_flushed(const Closing& closing) const;
    void flush(Closing& closing);
    static void flushed(Buf& buf);

    Sessions& sessions_;
    std::vector<Ending> endings_;
    std::vector<std::unique_ptr<Closing>> closing_;
    bool has_more_ = false;
    std::atomic<bool> all_flushed_{true};
};

}  // namespace blkscope::nbd
