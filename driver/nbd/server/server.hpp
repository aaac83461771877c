// Server: the exports, the workers that serve them, and the listeners and handshakes of clients.
//
//     Listeners ─▶ Reception, Negotiation (a handshake with a deadline) ─▶ Worker::hand_over
//                      ServedExports: the exports and their names ────┘
//                      Workers: choose a worker for an export or a client
//
// The control thread runs the executor: listening, handshakes, deadlines. No byte of a disk passes
// through it. After the handshake a connection belongs to its worker.
//
// Order of calls: add() each export, listen_*(), start(); then run the executor. From then on
// change() adds and removes exports, and listeners may be added and removed. stop() or the
// destructor closes all connections, flushes every backing and joins the workers. Accepted requests
// are answered first.
//
// A removed export is not offered any more. The accepted requests of its clients are answered, then
// their connections are closed. Then its backing is flushed and closed. Clients of other exports
// are not affected.
//
// A client is refused if its address is not allowed, or if connections_max clients are served. The
// server closes the refused connection and logs a line. If only handshakes use up the connections,
// one handshake of the busiest client ends instead.
//
// Ownership: borrows the executor; owns exports, devices, workers, listeners and handshakes.
// Threads:   the thread that runs the executor.
// Errors:    add(), change() and listen_*() throw std::system_error or another std::runtime_error.
//            A wrong address or name of an export is std::invalid_argument. A client's failure ends
//            that client only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/nbd/handshake/handshake.hpp"
#include "driver/nbd/server/allow_list.hpp"
#include "driver/nbd/server/client_key.hpp"
#include "driver/nbd/server/executor.hpp"
#include "driver/nbd/server/export_options.hpp"
#include "driver/nbd/server/listener.hpp"
#include "driver/nbd/server/power_loss.hpp"
#include "driver/nbd/server/reception.hpp"
#include "driver/nbd/server/recordings.hpp"
#include "driver/nbd/server/served_exports.hpp"
#include "driver/nbd/server/workers.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "driver/nbd/uri.hpp"

namespace blkscope {
class Device;
}

namespace blkscope::nbd {

class Server final : private Reception::Owner {
  public:
    struct Options {
        /// The limit of workers. Each export gets a new worker up to the limit, then each client
        /// that would otherwise share one.
        unsigned workers = 1;
        bool busy_wait = true;  // a worker may spin before it sleeps, where spinning saves time
        std::chrono::milliseconds handshake_time{10'000};  // from the greeting to transmission
        unsigned connections_max = 256;                    // handshakes included
        bool list = true;                                  // clients may list the exports
        unsigned handshakes_max = 64;                      // at once
        AllowList allow = {};
        std::shared_ptr<const TlsContext> tls = {};  // null for none
        ReplyForm replies = ReplyForm::extended;     // the richest form; each client chooses
        ClientBy client_by = ClientBy::peer;         // of connections that open from now on
        size_t recorder_records = Recorder::default_records;  // of each worker; 0: none
    };

    /// `executor` outlives the server. `source` replaces the workers for a simulator.
    Server(Executor& executor, const Options& options, WorkerSource source = {});
    ~Server() override;
    Server& operator=(Server&&) = delete;

    /// Adds an export, on a worker that is made if needed. Call before start().
    void add(ExportOptions options);

    /// Removes the exports with these names and adds others. If it throws, nothing has changed.
    /// Call after start().
    void change(const std::vector<std::string>& removed, std::vector<ExportOptions> added);
    /// The same with exports that are made already.
    void change(const std::vector<std::string>& removed, NewExports added);
    /// For exports that change() is to add. Must not outlive stop().
    [[nodiscard]] NewExports new_exports() { return NewExports(exports_); }

    /// The exports with these indices lose their power at one moment: see power_loss.hpp. Call
    /// after start().
    std::vector<PowerLoss> lose_power(const std::vector<size_t>& exports);

    /// The requests of an export, recorded and under way, as long as the export is not removed.
    /// Call after start().
    [[nodiscard]] Recordings recordings(size_t export_index);

    /// Sets the limits for new clients. `workers`, `busy_wait` and `recorder_records` keep their
    /// values.
    void set_limits(const Options& options);

    /// The listen functions return the address without an export's name, which stop_listening()
    /// takes. A stale socket at `path` is replaced; a socket in use is not (EADDRINUSE).
    Uri listen_unix(const std::string& path);
    /// `port` 0 means a free port.
    Uri listen_tcp(const std::string& address, uint16_t port);
    /// Takes over a listening socket, unless it throws.
    Uri listen_on(int socket);
    /// Stops listening there. Clients that came from there stay connected.
    void stop_listening(const Uri& address);

    /// Serves the client of a connected stream socket. The server owns the socket.
    void serve_client(int socket);
    /// Sets a function to call whenever the last client has closed. Call before start().
    void when_idle(std::function<void()> call) { when_idle_ = std::move(call); }

    /// Publishes the exports, starts the workers and accepts clients. Call once.
    void start();

    /// The descriptors that this server still opens up to its limits of workers and clients.
    [[nodiscard]] size_t descriptors_to_come() const;

    /// Closes all. False: a worker has not ended within `limit`, because a backing does not
    /// respond. Only the end of the process ends such a worker. Without a limit stop() waits for as
    /// long as needed.
    bool stop(std::optional<std::chrono::seconds> limit = {});
    /// True if all data that clients wrote is on stable storage. Call after stop().
    [[nodiscard]] bool all_flushed() const;

    [[nodiscard]] size_t exports() const { return exports_.size(); }
    /// The device. Its changes are for any thread. Its live counters are for a caller that runs the
    /// workers' turns.
    [[nodiscard]] Device& device(size_t index) const;
    /// The device of the export with this name; null if there is none.
    [[nodiscard]] Device* find_device(const std::string& export_name) const;
    /// The URIs of an export: one for each listening address, Unix sockets first. The scheme is nbds
    /// where TLS is required.
    [[nodiscard]] std::vector<Uri> uris(size_t index) const;

  private:
    Uri listen(std::unique_ptr<Acceptor> acceptor);
    void publish();

    [[nodiscard]] size_t served() const override;
    [[nodiscard]] uint64_t serial_of(size_t export_index) const override;
    void serve(uint64_t export_serial, const Terms& terms, int socket,
               std::unique_ptr<TlsSession> tls, const Peer& peer) override;
    void handshake_ended() override;

    Executor& executor_;
    Options options_;
    bool started_ = false;
    uint64_t last_connection_ = 0;  // counts the connections that were served
    std::function<void()> when_idle_;
    Workers workers_;
    ServedExports exports_;
    Listeners listeners_;
    Reception reception_;
};

}  // namespace blkscope::nbd
