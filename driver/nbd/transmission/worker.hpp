// Worker: one thread with one ring, and all that happens on it: the connections that were handed to
// it, the devices behind them, and the memory that their requests use.
//
//     wait ─▶ let those that yielded go on ─▶ dispatch completions ─▶ let stalled clients go on
//      ▲                                                                       │
//      └─── put receives on the ring ◀─── put replies on the ring ◀────────────┘
//
// One wait() per turn is the only system call, however much the turn brought. Nothing blocks and
// nothing allocates between a request's header and its reply.
//
// An export belongs to one worker, and its clients may be with any: for those of another worker's
// export a worker opens a lane to the device, and closes it after the last of them.
//
// An export that leaves is seen off: its clients are ended, wherever they are, its backing is
// flushed, and it is destroyed, on the thread of the worker that it belongs to.
//
// Ownership: owns its ring, memory and connections, its lanes to others' exports, and the exports
//            that leave; the others outlive run().
// Threads:   construction, make_export(), retire(), end_clients() and stop() on the control thread;
//            hand_over(), wake() and the counts from any; all else on the worker's own thread.
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

#include "blockdev/ring/ring.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/server/log_limit.hpp"
#include "driver/nbd/tls/tls_session.hpp"
#include "driver/nbd/transmission/arena.hpp"
#include "driver/nbd/transmission/connection.hpp"
#include "driver/nbd/transmission/pending_request.hpp"

namespace blkscope::nbd {

class Worker {
  public:
    /// With `busy_wait` the worker spins before it sleeps, where that pays.
    explicit Worker(bool busy_wait = true, Kernel& kernel = linux_kernel());
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Called on the worker's thread when a connection has gone. Before start().
    void when_connection_ended(std::function<void()> call) { connection_ended_ = std::move(call); }

    /// Starts the worker's thread.
    void start();

    // ---- Without a thread ----
    // Instead of start() a caller may do the thread's work itself: begin(), then wait() and turn()
    // in turns until finished().

    /// Makes the calling thread the worker's. Throws std::system_error.
    void begin();
    /// Submits what the last turn prepared and sleeps until there is something to do.
    void wait();
    /// All that follows a wait(): completions, messages, replies, the next receives.
    void turn();
    /// Stopped, and no connection and no closing export is left.
    [[nodiscard]] bool finished() const;

    /// Makes an export of the worker's; on its thread, if it has started. Waits for it.
    std::unique_ptr<Export> make_export(ExportOptions options);

    /// Answers what the clients of the export with this serial have asked and disconnects them (one
    /// that does not take its replies after some seconds), without waiting for it.
    void end_clients(uint64_t export_serial);

    /// The same for an export of its own; when the other workers' clients have gone, too, flushes
    /// the backing and destroys the export.
    void retire(std::unique_ptr<Export> exp);

    /// Exports that it was given and that were not retired.
    [[nodiscard]] unsigned exports() const { return exports_; }

    /// Gives a negotiated socket (blocking mode) to the worker, which owns it from here, and the
    /// TLS that was begun on it, if any. Only an export whose backing is shareable() may be
    /// another worker's.
    void hand_over(Export& exp, const Terms& terms, int socket, std::unique_ptr<TlsSession> tls);

    /// Ends the thread once all exports, which were retired before, have left.
    void stop();
    /// False if that has not happened by then; without a time it waits.
    bool join(std::optional<std::chrono::steady_clock::time_point> deadline);

    /// No export left with data that could not be flushed; any thread.
    [[nodiscard]] bool all_flushed() const { return all_flushed_.load(); }

    /// Has it look around, for something that it waits for has come true; any thread.
    void wake() { ring_.wake(); }

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

    /// Receives next, after the replies of this turn, or those of the next one.
    void receives_next(Connection& connection);

    /// Tells that a connection to `exp` was closed, and why.
    void log(const Export& exp, std::string_view why);

  private:
    struct Arrival {
        Export* exp;
        Terms terms;
        int socket;
        std::unique_ptr<TlsSession> tls;
    };

    /// Its way to an export of another worker, while it has clients of it.
    struct Visit {
        Export* exp;
        std::unique_ptr<Lane> lane;
        unsigned clients;
    };

    /// An export whose clients are to go.
    struct Ending {
        uint64_t export_serial;
        unsigned seconds;
    };

    /// An export that leaves. It is its own last flush.
    struct Leaver : Buf {
        Worker* worker = nullptr;
        std::unique_ptr<Export> exp;
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
    void enter();
    template <class Change>
    void send(Change change);
    void look_into_inbox();
    void call(std::function<void()> what);
    void admit(Arrival arrival);
    Lane& lane_to(Export& exp);
    void leave(Export& exp);
    void gone(Export& exp);
    void begin_to_end(uint64_t export_serial);
    void begin_to_leave(std::unique_ptr<Export> exp);
    void see_off();
    void hurry_up(Ending& ending);
    [[nodiscard]] bool has_clients(uint64_t export_serial) const;
    static void last_flush_done(Buf& buf);
    void watch_clock();
    void tick(int32_t result);
    void give_up_on_idle_holders();
    void resume(std::vector<Connection*>& list, bool Connection::*in_list);
    [[nodiscard]] bool others_wait(const Connection& holder) const;
    void serve_changed();
    void receive_next();
    void drop(Connection& connection);

    Ring ring_;
    Arena arena_;
    RequestPool requests_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<Connection*> changed_;
    std::vector<Connection*> stalled_;
    std::vector<Connection*> yielded_;
    std::vector<Connection*> receiving_;
    std::vector<Connection*> resuming_;
    Connection* first_in_line_ = nullptr;  // waits for a large piece; nobody overtakes it

    std::vector<Visit> visits_;
    Operation clock_operation_{*this, &Worker::tick};
    __kernel_timespec tick_interval_{};
    struct Inbox {
        std::vector<Arrival> arrivals;
        std::vector<uint64_t> endings;  // serials of exports
        std::vector<std::unique_ptr<Export>> leaving;
        std::vector<std::packaged_task<void()>> calls;
    };
    std::mutex inbox_mutex_;
    Inbox inbox_;
    std::atomic<bool> has_mail_{false};
    std::vector<Ending> endings_;
    std::vector<std::unique_ptr<Leaver>> leaving_;
    std::atomic<bool> stop_requested_{false};
    bool stopping_ = false;
    bool begun_ = false;  // the control thread's
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
