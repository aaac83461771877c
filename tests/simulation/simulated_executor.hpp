// SimulatedExecutor: the control thread's calls, timers, sockets and listeners, as events of a
// timeline.
//
//     connect() ─▶ queue of a listener ─▶ async_accept ─▶ handshake ── release() ─▶ SimulatedKernel
//
// A read gets any part of the arrived bytes, and a write is sent in parts. Accepting may fail a few
// times in a row, as without memory or descriptors. The number of sockets may be limited, too. Then
// all listeners share one spare descriptor.
//
// Units:     bytes; nanoseconds of virtual time.
// Ownership: borrows timeline and kernel; outlives its sockets at both ends.
// Threads:   a single one.
// Errors:    as the interface says. Descriptors cannot be passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/nbd/server/executor.hpp"
#include "random.hpp"
#include "simulated_kernel.hpp"
#include "simulated_socket.hpp"
#include "timeline.hpp"

namespace blkscope::simulation {

class SimulatedExecutor final : public nbd::Executor {
  public:
    /// The addresses at which clients connect; no others are served.
    static constexpr const char* unix_path = "/simulated";
    static constexpr const char* tcp_address = "192.0.2.1";

    /// One accept in `accept_error` fails, up to `refusals_max` in a row; 0: none.
    static constexpr unsigned refusals_max = 2;
    uint64_t accept_error = 0;

    /// Limit of the server's sockets, listeners not included; 0: none.
    size_t sockets_max = 0;
    /// One freed spare in so many is taken by another process; 0: none.
    uint64_t spare_lost = 0;
    /// The number of clients that were accepted with the spare descriptor.
    uint64_t accepted_in_need = 0;
    /// The spare could not be opened again, because the server kept all descriptors.
    bool spare_missing = false;

    SimulatedExecutor(Timeline& timeline, SimulatedKernel& kernel, uint64_t seed);
    ~SimulatedExecutor() override;
    SimulatedExecutor(const SimulatedExecutor&) = delete;
    SimulatedExecutor& operator=(const SimulatedExecutor&) = delete;

    /// Makes a call of the control thread after that time.
    void later(hrtime_t delay, std::function<void()> call);
    /// The control thread waits for something: its calls are made after go_on().
    void wait() { waits_ = true; }
    void go_on();

    /// The client's end of a new connection. Without a listener the connection is closed.
    std::shared_ptr<SimulatedSocket> connect(const Wire& wire, const nbd::Peer& peer);

    // ---- Objects left ----

    [[nodiscard]] size_t sockets() const { return counts_->sockets; }
    [[nodiscard]] size_t acceptors() const { return counts_->acceptors; }
    [[nodiscard]] size_t alarms() const { return counts_->alarms; }

    // ---- Executor ----

    void post(std::function<void()> call) override;
    [[nodiscard]] Time now() const override;
    [[nodiscard]] std::unique_ptr<nbd::Timer> make_timer() override;
    [[nodiscard]] std::unique_ptr<nbd::StreamSocket> take_socket(int descriptor) override;
    [[nodiscard]] std::unique_ptr<nbd::Acceptor> listen_unix(const std::string& path) override;
    [[nodiscard]] std::unique_ptr<nbd::Acceptor> listen_tcp(const std::string& address,
                                                            uint16_t port) override;
    [[nodiscard]] std::unique_ptr<nbd::Acceptor> listen_on(int descriptor) override;

  private:
    class SimulatedTimer;
    class Stream;
    class Listening;
    struct StreamState;
    struct ListeningState;

    /// The number of objects. Shared, because objects may end after the executor.
    struct Counts {
        size_t sockets = 0;
        size_t acceptors = 0;
        size_t alarms = 0;
    };

    [[nodiscard]] bool full() const;
    /// Makes the call after the time of one call of a thread.
    void soon(std::function<void()> call);

    Timeline& timeline_;
    SimulatedKernel& kernel_;
    Random random_;
    bool waits_ = false;
    std::vector<std::function<void()>> late_;  // calls that came while it waited
    bool has_spare_ = true;
    bool spare_is_taken_ = false;  // at its next use, by another process
    std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
    std::vector<std::weak_ptr<ListeningState>> listening_;
};

}  // namespace blkscope::simulation
