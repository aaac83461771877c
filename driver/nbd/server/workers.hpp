// Workers: the workers of a server, and which of them gets an export or a client.
//
//     export ─▶ a worker of its own while there may be more; then the one with the fewest exports
//     client ─▶ the export's worker, unless another has fewer clients
//
// Ownership: owns the workers; each export outlives its worker's clients of it.
// Threads:   the control thread; connections() any.
// Errors:    make_export() throws what Worker's constructor, start() and make_export() throw. A
//            worker that cannot be made for a client is logged, and the client shares one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "driver/nbd/server/export_options.hpp"

namespace blkscope::nbd {

struct Export;
class Worker;

/// Where a server's workers come from. A simulator makes them on a kernel of its own and gives them
/// no thread: it gives them their turns, after stop() until all have finished(), too.
struct WorkerSource {
    /// Null: one on this machine's kernel.
    std::function<std::unique_ptr<Worker>(bool busy_wait)> make = {};
    /// Null: in a thread of its own.
    std::function<void(Worker&)> start = {};
};

class Workers {
  public:
    struct Options {
        unsigned count_max;
        bool busy_wait;
    };
    struct Calls {
        std::function<void()> connection_ended;  // on a worker's thread
        std::function<void(std::string_view line)> log;
    };

    Workers(const Options& options, WorkerSource source, Calls calls);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Workers that are made later start at once.
    void start();

    [[nodiscard]] std::unique_ptr<Export> make_export(ExportOptions options);
    /// Ends the export's clients, with every worker, and then the export.
    void retire(std::unique_ptr<Export> exp);

    /// The worker for one more client of `exp`.
    [[nodiscard]] Worker& for_client(const Export& exp);

    /// Closes a negotiated socket that no worker gets.
    void close_socket(int socket);

    /// After all exports were retired. False when a worker has not ended by then; without a time
    /// it waits.
    bool stop(std::optional<std::chrono::steady_clock::time_point> deadline);
    [[nodiscard]] bool all_flushed() const;

    /// Clients of all workers.
    [[nodiscard]] size_t connections() const;
    /// Workers that may still be made.
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
