// Server: exports, the workers that serve them, and the door through which clients come.
//
//     Listeners ─▶ Reception, Negotiation (a handshake with a deadline) ─▶ Worker::hand_over
//                      ServedExports: what there is ──────────────────┘
//                      Workers: which of them gets an export or a client
//
// The control thread runs the executor: listening, handshakes, deadlines. No byte of a disk
// passes through it; once negotiated, a connection is its worker's.
//
// Order of calls: add() each export, listen_*(), start(); then run the executor. From then on
// exports come and go with change(), and listeners too. stop() or the destructor ends every client
// (requests that were accepted are answered), flushes every backing and joins the workers.
//
// An export that goes is not offered any more; its clients' accepted requests are answered, then
// they are disconnected, its backing is flushed and closed. Clients of others notice nothing.
//
// A client is turned away (its connection closed, with a line in the log) if its address is not
// allowed, or if as many as there may be are served. Where only handshakes are in its way, one of
// the busiest client's ends in its favour.
//
// Ownership: borrows the executor; owns exports, devices, workers, listeners and handshakes.
// Threads:   the one that runs the executor.
// Errors:    std::system_error or another std::runtime_error from add(), change() and listen_*(),
//            std::invalid_argument for an address that is none; a client's failure ends that client
//            only.
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
#include "driver/nbd/server/executor.hpp"
#include "driver/nbd/server/export_options.hpp"
#include "driver/nbd/server/listeners.hpp"
#include "driver/nbd/server/reception.hpp"
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
        /// At most: one is made for each export until there are so many, then one for a client that
        /// would have to share one.
        unsigned workers = 1;
        bool busy_wait = true;  // they may look out for a while before they sleep, where that pays
        std::chrono::milliseconds handshake_time{10'000};  // from the greeting to transmission
        unsigned connections_max = 256;                    // handshakes included
        bool list = true;                                  // clients may ask what there is
        unsigned handshakes_max = 64;                      // at once
        AllowList allow = {};
        std::shared_ptr<const TlsContext> tls = {};  // null for none
        ReplyForm replies = ReplyForm::extended;     // at most; each client chooses
    };

    Server(Executor& executor, const Options& options, WorkerSource source = {});
    ~Server() override;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void add(ExportOptions options);

    /// Takes the exports of these names away and puts others in their place, all or, if it throws,
    /// nothing. After start().
    void change(const std::vector<std::string>& removed, std::vector<ExportOptions> added);

    /// For clients that come from now on; what concerns workers stays.
    void set_limits(const Options& options);

    /// Each gives the address without an export's name, by which the listener is known from here.
    /// A stale socket at `path` is replaced; one that answers is not (EADDRINUSE).
    Uri listen_unix(const std::string& path);
    /// `port` 0 takes a free one.
    Uri listen_tcp(const std::string& address, uint16_t port);
    /// A socket that listens already and that the server owns from here, unless this throws.
    Uri listen_on(int socket);
    /// Clients that came through it stay.
    void stop_listening(const Uri& address);

    /// Serves the client at the other end of a connected stream socket, which the server owns.
    void serve_client(int socket);
    /// Called whenever the last client has left. Before start().
    void when_idle(std::function<void()> call) { when_idle_ = std::move(call); }

    void start();

    /// How many more this server opens when it has as many workers and clients as it may have.
    [[nodiscard]] size_t descriptors_to_come() const;

    /// False when the workers have not ended within `limit`, because a backing does not answer:
    /// then only the end of the process ends them. Without a limit it waits for as long as it
    /// takes. `all_flushed()` tells whether all that clients wrote is on stable storage.
    bool stop(std::optional<std::chrono::seconds> limit = {});
    [[nodiscard]] bool all_flushed() const;

    [[nodiscard]] size_t exports() const { return exports_.size(); }
    /// For its live counters, to a caller that gives the workers their turns.
    [[nodiscard]] const Device& device(size_t index) const;
    /// The device's name (nbd0), and where a client finds it: one URI for each address that is
    /// listened on, Unix sockets first. It says nbds where a client must.
    [[nodiscard]] const std::string& device_name(size_t index) const;
    [[nodiscard]] std::vector<Uri> uris(size_t index) const;

  private:
    Uri listen(std::unique_ptr<Acceptor> acceptor);
    void publish();

    [[nodiscard]] size_t served() const override;
    [[nodiscard]] uint64_t serial_of(size_t export_index) const override;
    void serve(uint64_t export_serial, const Terms& terms, int socket,
               std::unique_ptr<TlsSession> tls) override;
    void handshake_ended() override { look_for_idleness(); }
    void look_for_idleness();

    Executor& executor_;
    Options options_;
    bool started_ = false;
    std::function<void()> when_idle_;
    Workers workers_;
    ServedExports exports_;
    Listeners listeners_;
    Reception reception_;
};

}  // namespace blkscope::nbd
