// Workers: the workers of a server, and the choice of a worker for an export or a client.
//
//     export ─▶ a new worker up to the limit, then the worker with the fewest exports
//     client ─▶ the export's worker, unless another has fewer clients
//
// Ownership: owns the workers. Each export outlives the clients that its worker has of it.
// Threads:   the control thread; connections() any.
// Errors:    make_export() throws what Worker's constructor, start() and make_export() throw. A
//            failure to make a worker for a client is logged, and the client shares a worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "blockdev/accounting/recorder.hpp"
#include "driver/nbd/server/export_options.hpp"
#include "trace/request.hpp"

namespace blkscope::nbd {

struct Export;
class Worker;

/// After cut_clients(): the devices have no request of the clients, or still have some. Or a
/// worker has not begun in the whole time, and does nothing later.
enum class Cut : uint8_t { none, requests, stuck };

/// The functions that make and start workers. A simulator makes workers on its own kernel, without
/// threads. The simulator calls wait() and turn() of each, also after stop() until all have
/// finished().
struct WorkerSource {
    using Time = std::chrono::steady_clock::time_point;

    /// Null: a worker on this machine's kernel.
    std::function<std::unique_ptr<Worker>(bool busy_wait)> make = {};
    /// Null: in a thread of its own.
    std::function<void(Worker&)> start = {};
    /// Null: the workers' threads go on while the caller waits. Else lets the workers go on for a moment, and returns
    /// the time.
    std::function<Time()> go_on = {};
};

/// Requests out of the recorders of the workers.
struct Recorded {
    std::vector<trace::Request> requests = {};
    std::vector<uint64_t> next = {};  // of each worker
    uint64_t lost = 0;                // records of any device, which were overwritten meanwhile
};

struct UnderWay {
    std::vector<trace::Request> requests = {};
    unsigned silent_workers = 0;  // have not answered in time
};

class Workers {
  public:
    struct Options {
        unsigned count_max;
        bool busy_wait;
        size_t recorder_records = Recorder::default_records;  // of each worker
    };
    struct Calls {
        std::function<void()> connection_ended;  // on a worker's thread
        std::function<void(std::string_view line)> log;
    };

    Workers(const Options& options, WorkerSource source, Calls calls);
    ~Workers();
    Workers& operator=(Workers&&) = delete;

    /// Starts all workers. Workers made later start at once.
    void start();

    [[nodiscard]] std::unique_ptr<Export> make_export(ExportOptions options);
    /// Closes the export's connections with every worker, then the export.
    void close_export(std::unique_ptr<Export> exp);

    /// Closes all connections to the exports with these serials at once. Waits until their devices
    /// are idle, at most for this time.
    Cut cut_clients(const std::vector<uint64_t>& export_serials, std::chrono::milliseconds limit);

    /// Chooses the worker for one more client of `exp`.
    [[nodiscard]] Worker& for_client(const Export& exp);

    /// Closes a negotiated socket whose export was removed.
    void close_socket(int socket);

    /// Stops all workers; call after closing all exports. False: the deadline passed first. Without
    /// a deadline it waits.
    bool stop(std::optional<std::chrono::steady_clock::time_point> deadline);
    [[nodiscard]] bool all_flushed() const;

    /// The requests of a device among the workers' recorded ones. `from` has the next record of
    /// each worker. Looks at `records_max` records at most.
    [[nodiscard]] Recorded recorded(uint32_t device, const std::vector<uint64_t>& from,
                                    size_t records_max) const;
    /// The next record of each worker, for recorded().
    [[nodiscard]] std::vector<uint64_t> recorder_heads() const;

    /// The requests of an export that are under way, as far as the workers answer before the
    /// deadline.
    [[nodiscard]] UnderWay under_way(uint64_t export_serial,
                                     std::chrono::steady_clock::time_point deadline);

    /// The number of clients of all workers.
    [[nodiscard]] size_t connections() const;
    /// The number of workers that may still be made.
    [[nodiscard]] size_t to_come() const;

  private:
    Worker& make();
    void start(Worker& worker);
    Worker& for_export();

    Options options_;
    WorkerSource source_;
    Calls calls_;
    bool started_ = false;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace blkscope::nbd
