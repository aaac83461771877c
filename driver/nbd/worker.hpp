// Worker: one thread with one ring, and all that happens on it: the connections that were handed to
// it, the devices behind them, and the memory that their requests use.
//
//     wait ─▶ let those that yielded go on ─▶ dispatch completions ─▶ let stalled clients go on
//      ▲                                                                       │
//      └──────────────────────── put replies on the ring ◀─────────────────────┘
//
// One wait() per turn is the only system call, however much the turn brought. Nothing blocks and
// nothing allocates between a request's header and its reply.
//
// An export that leaves is seen off: its clients are ended, its backing is flushed, and it is
// destroyed, on the thread that its device belongs to.
//
// Ownership: owns its ring, memory and connections, and the exports that leave; the others outlive
//            run().
// Threads:   construction, make_export(), retire() and stop() on the control thread; hand_over()
//            and the counts from any; all else on the worker's own thread.
// Errors:    the constructor throws std::system_error or std::runtime_error (no memory, no
// io_uring).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "blockdev/arena.hpp"
#include "blockdev/ring.hpp"
#include "driver/nbd/connection.hpp"
#include "driver/nbd/export.hpp"
#include "driver/nbd/log_limit.hpp"
#include "driver/nbd/pending_request.hpp"
#include "driver/nbd/tls_session.hpp"

namespace blkscope::nbd {

class Worker {
  public:
    Worker();
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Called on the worker's thread when a connection has gone. Before start().
    void when_connection_ended(std::function<void()> call) { connection_ended_ = std::move(call); }

    void start();

    /// Makes an export of the worker's; on its thread, if it has started. Waits for it.
    std::unique_ptr<Export> make_export(ExportOptions options);

    /// Answers what the export's clients have asked, disconnects them (one that does not take its
    /// replies after some seconds), flushes the backing and destroys the export; in that order, and
    /// without waiting for it.
    void retire(std::unique_ptr<Export> exp);

    /// Exports that it was given and that were not retired.
    [[nodiscard]] unsigned exports() const { return exports_; }

    /// Gives a negotiated socket (blocking mode) to the worker, which owns it from here, and the
    /// TLS that was begun on it, if any.
    void hand_over(Export& exp, const Terms& terms, int socket, std::unique_ptr<TlsSession> tls);

    /// Ends the thread once all exports, which were retired before, have left.
    void stop();
    /// False if that has not happened by then; without a time it waits.
    bool join(std::optional<std::chrono::steady_clock::time_point> deadline);

    /// No export left with data that could not be flushed; any thread.
    [[nodiscard]] bool all_flushed() const { return all_flushed_.load(); }

    /// Connections that it has now; any thread.
    [[nodiscard]] unsigned connections() const { return connection_count_.load(); }

    // ---- For its connections ----
    [[nodiscard]] Ring& ring() { return ring_; }
    [[nodiscard]] Arena& arena() { return arena_; }
    [[nodiscard]] RequestPool& requests() { return requests_; }

    /// Memory for one request's data, or nullptr: used up, or someone stands in line before you.
    std::byte* acquire(Connection& connection, uint32_t bytes);

    /// Has replies to send, or has come to its end; looked at once per turn.
    void changed(Connection& connection);

    /// Waits for room; goes on when something has been given back.
    void stalled(Connection& connection);
    void leave_line(Connection& connection);

    /// Has had its share of this turn; goes on in the next, which comes without sleeping.
    void yielded(Connection& connection);

    /// Tells that a connection to `exp` was closed, and why.
    void log(const Export& exp, std::string_view why);

  private:
    struct Arrival {
        Export* exp;
        Terms terms;
        int socket;
        std::unique_ptr<TlsSession> tls;
    };

    /// An export that leaves. It is its own last flush.
    struct Leaver : Buf {
        Worker* worker = nullptr;
        std::unique_ptr<Export> exp;
        unsigned seconds = 0;
        bool flushing = false;
        bool flushed = false;
    };

    /// An operation that reports to a member function.
    class Operation : public Completion {
      public:
        using Handler = void (Worker::*)(int32_t);
        Operation(Worker& worker, Handler handler) : worker_(worker), handler_(handler) {}
        void complete(int32_t result) override { (worker_.*handler_)(result); }

      private:
        Worker& worker_;
        Handler handler_;
    };

    void run();
    void watch_inbox();
    void take_inbox(int32_t result);
    void call(std::function<void()> what);
    void begin_to_leave(std::unique_ptr<Export> exp);
    void see_off();
    void hurry_up(Leaver& leaver);
    [[nodiscard]] bool has_clients(const Export& exp) const;
    static void last_flush_done(Buf& buf);
    void watch_clock();
    void tick(int32_t result);
    void give_up_on_idle_holders();
    void resume(std::vector<Connection*>& list, bool Connection::*in_list);
    [[nodiscard]] bool others_wait(const Connection& holder) const;
    void serve_changed();
    void drop(Connection& connection);

    Ring ring_;
    Arena arena_;
    RequestPool requests_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<Connection*> changed_;
    std::vector<Connection*> stalled_;
    std::vector<Connection*> yielded_;
    std::vector<Connection*> resuming_;
    Connection* first_in_line_ = nullptr;  // waits for a large piece; nobody overtakes it

    Operation inbox_operation_{*this, &Worker::take_inbox};
    Operation clock_operation_{*this, &Worker::tick};
    __kernel_timespec tick_interval_{};
    uint64_t inbox_signal_ = 0;
    int inbox_event_ = -1;
    std::mutex inbox_mutex_;
    std::vector<Arrival> inbox_;
    std::vector<std::unique_ptr<Export>> inbox_leaving_;
    std::vector<std::packaged_task<void()>> inbox_calls_;
    std::vector<std::unique_ptr<Leaver>> leaving_;
    std::atomic<bool> stop_requested_{false};
    bool stopping_ = false;
    std::promise<void> ended_;
    std::future<void> end_ = ended_.get_future();
    unsigned exports_ = 0;  // the control thread's
    std::atomic<unsigned> connection_count_{0};
    std::atomic<bool> all_flushed_{true};
    std::function<void()> connection_ended_;
    LogLimit log_;
    std::thread thread_;
};

}  // namespace blkscope::nbd
