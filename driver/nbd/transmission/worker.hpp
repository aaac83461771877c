// Worker: one thread with one ring, and the turn in which all its work is done.
//
//     wait ─▶ yielded sessions resume ─▶ completions ─▶ mail ─▶ waiting sessions resume
//      ▲                                                                  │
//      └────── receives are prepared ◀────── replies are prepared ◀───────┘
//
// The only system call of a turn is one wait(), whatever the number of requests. Between a
// request's header and its reply nothing blocks and nothing allocates.
//
// An export belongs to one worker. The export's clients may be with any worker (visits.hpp).
//
// Ownership: owns its ring, sessions, lanes and closing exports. Other exports outlive their
//            sessions.
// Threads:   the control thread constructs, and calls start(), make_export(), close_export(),
//            close_clients(), ask() and stop(). Any thread may call hand_over(), wake() and the counts.
//            The rest is the worker thread's.
// Errors:    the constructor throws std::system_error or std::runtime_error (no memory, no
//            io_uring). start() and begin() throw std::system_error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "blockdev/accounting/recorder.hpp"
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
    /// With `busy_wait` the worker spins before it sleeps, where spinning saves time. The last
    /// `recorder_records` requests of the worker are recorded.
    explicit Worker(bool busy_wait = true, Kernel& kernel = linux_kernel(),
                    size_t recorder_records = Recorder::default_records);
    ~Worker();
    Worker& operator=(Worker&&) = delete;

    /// Sets the function that the worker's thread calls after each closed connection. Call before
    /// start().
    void when_connection_ended(std::function<void()> call) { connection_ended_ = std::move(call); }

    /// Starts the worker's thread. Throws if the thread cannot enable the ring.
    void start();

    // ---- Without a thread ----
    // Instead of start() a caller may do the thread's work: begin(), then wait() and turn() until
    // finished().

    /// Makes the calling thread the worker's thread.
    void begin();
    /// Submits what the last turn prepared and sleeps until there is something to do.
    void wait();
    /// The work that follows a wait(): completions, messages, replies, the next receives.
    void turn();
    /// True once stopped, with no connection and no closing export left.
    [[nodiscard]] bool finished() const;

    /// Makes an export that belongs to this worker, on the worker's thread if there is one. Waits
    /// for it.
    std::unique_ptr<Export> make_export(ExportOptions options);

    /// Closes the connections to the export with this serial, without waiting. Accepted requests
    /// are answered first. After some seconds a client that does not read its replies is closed
    /// too.
    void close_clients(uint64_t export_serial);

    /// Calls `look` with the worker's sessions, on the worker's thread between two turns, and does
    /// not wait for that. The future gets the result of `look`. The caller may abandon the future.
    /// A worker that has ended never makes the call.
    template <class Look>
    auto ask(Look look) -> std::future<std::invoke_result_t<Look, Sessions&>> {
        std::promise<std::invoke_result_t<Look, Sessions&>> promise;
        auto answer = promise.get_future();
        std::packaged_task<void()> call(
            [this, its_look = std::move(look), its_promise = std::move(promise)]() mutable {
                its_promise.set_value(its_look(sessions_));
            });
        mailbox_.send([&](Mail& mail) { mail.calls.push_back(std::move(call)); });
        return answer;
    }

    /// Closes the connections to an export of this worker, without waiting. When the other workers' clients have closed too,
    /// flushes the backing and destroys the export.
    void close_export(std::unique_ptr<Export> exp);

    /// The requests and memory of all clients, for a caller that runs the worker's turns.
    [[nodiscard]] const SharedMemory& memory() const { return sessions_.memory(); }

    /// The last requests of this worker. Any thread.
    [[nodiscard]] const Recorder& recorder() const { return recorder_; }

    /// Exports that were made here and not closed.
    [[nodiscard]] unsigned exports() const { return exports_; }

    /// Gives the worker a negotiated socket (blocking mode) and the TLS session on it, if any. The
    /// worker owns both from here. Only an export whose backing is shareable() may belong to
    /// another worker. `who` is the client of the connection, if it has one.
    void hand_over(Export& exp, const Terms& terms, int socket, std::unique_ptr<TlsSession> tls,
                   std::optional<ClientIdentity> who = {});

    /// Ends the thread once all exports are destroyed. Call close_export() for all of them first.
    void stop();
    /// Waits for the thread's end. False: the deadline passed first.
    bool join(std::optional<std::chrono::steady_clock::time_point> deadline);

    /// False once an export was destroyed with data that could not be flushed. Any thread.
    [[nodiscard]] bool all_flushed() const { return closing_.all_flushed(); }

    /// Wakes the worker: a condition that it waits for is now true. Any thread.
    void wake() { ring_.wake(); }

    /// The number of connections now. Any thread.
    [[nodiscard]] unsigned connections() const { return connection_count_.load(); }

    [[nodiscard]] Ring& ring() { return ring_; }

  private:
    /// Calls the worker once a second.
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
    void admit(Arrival arrival);
    void session_closed(Export& exp) override;
    void connection_closed(Export& exp);

    Ring ring_;
    Mailbox mailbox_{ring_};
    Recorder recorder_;
    Sessions sessions_{ring_, *this, recorder_};
    Visits visits_{ring_};
    ClosingExports closing_{sessions_};
    Ticker ticker_{*this};
    bool stopping_ = false;

    // For the control thread only.
    bool begun_ = false;
    unsigned exports_ = 0;
    std::thread thread_;

    std::promise<void> entered_;  // set by the thread: ready, or the exception
    std::promise<void> ended_;
    std::future<void> end_ = ended_.get_future();
    std::atomic<unsigned> connection_count_{0};
    std::function<void()> connection_ended_;
};

}  // namespace blkscope::nbd
