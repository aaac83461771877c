// ClosingExports: exports whose clients are to be disconnected, and those that are to be destroyed.
//
//     close() ─▶ clients end ─▶ visitors end ─▶ last flush ─▶ destroyed
//                   └─ after close_seconds_max, whoever has not taken its replies is given up
//
// Ownership: owns the exports that were given to close().
// Threads:   one worker; all_flushed() any.
// Errors:    a last flush that fails is told on standard error and remembered.
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
    ClosingExports(const ClosingExports&) = delete;
    ClosingExports& operator=(const ClosingExports&) = delete;

    /// Disconnects the clients of the export with this serial, and does not wait for it.
    void end_clients(uint64_t export_serial);
    /// The same; when no worker has clients of it any more, flushes its backing and destroys it.
    void close(std::unique_ptr<Export> exp);

    /// Goes on with what the turn has made possible.
    void advance();
    /// One second has passed.
    void tick();

    /// No export is left here.
    [[nodiscard]] bool empty() const { return closing_.empty(); }
    /// No export was destroyed with data that could not be flushed.
    [[nodiscard]] bool all_flushed() const { return all_flushed_.load(); }

  private:
    struct Ending {
        uint64_t export_serial;
        unsigned seconds;
    };

    /// An export that closes. It is its own last flush.
    struct Closing : Buf {
        ClosingExports* owner = nullptr;
        std::unique_ptr<Export> exp;
        bool flushing = false;
        bool flushed = false;
    };

    void flush(Closing& closing);
    static void flushed(Buf& buf);

    Sessions& sessions_;
    std::vector<Ending> endings_;
    std::vector<std::unique_ptr<Closing>> closing_;
    std::atomic<bool> all_flushed_{true};
};

}  // namespace blkscope::nbd
