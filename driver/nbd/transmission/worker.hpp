// Worker: one thread with one ring, and the turn that everything on it takes part in.
//
//     wait ─▶ sessions that yielded go on ─▶ completions ─▶ mail ─▶ sessions that waited go on
//      ▲                                                                       │
//      └─── receives go on the ring ◀─── replies go on the ring ◀──────────────┘
//
// One wait() per turn is the only system call, however much the turn brought. Nothing blocks and
// nothing allocates between a request's header and its reply.
//
// An export belongs to one worker. Its clients may be with any worker (visits.hpp).
//
// Ownership: owns its ring, sessions and lanes, and the exports that close; other exports outlive
//            their sessions.
// Threads:   construction, start(), make_export(), retire(), end_clients() and stop() on the control
//            thread; hand_over(), wake() and the counts on any; the rest on the worker's thread.
// Errors:    the constructor throws std::system_error or std::runtime_error (no memory, no
//            io_uring), start() and begin() std::system_error.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/closing_exports.hpp"
#include "driver/nbd/transmission/mailbox.hpp"
#include "driver/nbd/transmission/sessions.hpp"
#include "driver/nbd/transmission/visits.hpp"

namespace blkscope::nbd {

class Worker final : private SessionsOwner {
  public:
    /// With `busy_wait` the worker spins before it sleeps, where that pays.
    explicit Worker(bool busy_wait = true, Kernel& kernel = linux_kernel());
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Called on the worker's thread when a connection has closed. Before start().
    void when_connection_ended(std::function<void()> call) { connection_ended_ = std::move(call); }

    /// Starts the worker's thread, and throws if that cannot do its work.
    void start();

    // ---- Without a thread ----
    // Instead of start() a caller may do the thread's work itself: begin(), then wait() and turn()
    // in turns until finished().

    /// Makes the calling thread the worker's.
    void begin();
    /// Submits what the last turn prepared and sleeps until there is something to do.
    void wait();
    /// All that follows a wait(): completions, messages, replies, the next receives.
    void turn();
    /// Stopped, and no connection and no closing export is left.
    [[nodiscard]] bool finished() const;

    /// Makes an export of the worker's; on its thread, if it has one. Waits for it.
    std::unique_ptr<Export> make_export(ExportOptions options);

    /// Answers what the clients of the export with this serial have asked and disconnects them (one
    /// that does not take its replies after some seconds), without waiting for it.
    void end_clients(uint64_t export_serial);

    /// The same for an export of its own; when the other workers' clients have closed, too, flushes
    /// the backing and destroys the export.
    void retire(std::unique_ptr<Export> exp);

    /// Exports that it was given and that were not retired.
    [[nodiscard]] unsigned exports() const { return exports_; }

    /// Gives a negotiated socket (blocking mode) to the worker, which owns it from here, and the
    /// TLS that was begun on it, if any. Only an export whose backing is shareable() may be
    /// another worker's.
    void hand_over(Export& exp, const Terms& terms, int socket, std::unique_ptr<TlsSession> tls);

    /// Ends the thread once all exports, which were retired before, have closed.
    void stop();
    /// False if that has not happened by then; without a time it waits.
    bool join(std::optional<std::chrono::steady_clock::time_point> deadline);

    /// No export closed with data that could not be flushed; any thread.
    [[nodiscard]] bool all_flushed() const { return closing_.all_flushed(); }

    /// Has it look around, for something that it waits for has come true; any thread.
    void wake() { ring_.wake(); }

    /// Connections that it has now; any thread.
    [[nodiscard]] unsigned connections() const { return connection_count_.load(); }

    [[nodiscard]] Ring& ring() { return ring_; }

  private:
    /// Tells the worker of each second that passes.
    class Ticker final : public Completion {
      public:
        explicit Ticker(Worker& worker) : worker_(worker) {}
        void begin();
        void complete(int32_t result) override;

      private:
        Worker& worker_;
        __kernel_timespec interval_{.tv_sec = 1, .tv_nsec = 0};
    };

    void enter();
    void run();
    void read_mail();
    void admit(Mail::Arrival arrival);
    void session_closed(Export& exp) override;
    void connection_closed(Export& exp);

    Ring ring_;
    Mailbox mailbox_{ring_};
    Sessions sessions_{ring_, *this};
    Visits visits_{ring_};
    ClosingExports closing_{sessions_};
    Ticker ticker_{*this};
    bool stopping_ = false;

    // The control thread's.
    bool begun_ = false;
    unsigned exports_ = 0;
    std::thread thread_;

    std::promise<void> entered_;  // by the thread, or why it could not
    std::promise<void> ended_;
    std::future<void> end_ = ended_.get_future();
    std::atomic<unsigned> connection_count_{0};
    std::function<void()> connection_ended_;
};

}  // namespace blkscope::nbd
