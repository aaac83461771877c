// Clients: the clients of a device, and which statistics count their requests.
//
//     client-1   its own statistics, while it has a connection ──────┐
//     client-2   its own                                             ├─ closed ─▶ `client-gone`
//     ...        client_stats of them                            ─────┘
//     the rest   share client-other, for ever
//
// The operations, bytes, wlentime and rlentime of all clients, `client-other` and `client-gone` add
// up to the disk's. A request without a client counts on the disk only. Each event has the same stamp as on the
// disk.
//
// A client is all connections with the same key, and ends with the last one. Its number is used
// once. Its place is used again after ten seconds. So clients that connect often make a bounded
// number of kstats.
//
// Published (instance N), from the first client on; client_stats.hpp has the info kstats:
//     nbd:N:nbdN,client-K        client K
//     nbd:N:nbdN,`client-other`  the clients without a place
//     nbd:N:nbdN,`client-gone`   the clients that have closed
//
// Units:     ticks of the kernel's clock in requests; nanoseconds in open() and close().
// Ownership: owns the clients and their statistics; borrows the sequence lock.
// Threads:   a worker, with the device locked.
// Errors:    none; see ClientStats.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/seqlock.hpp"
#include "blockdev/accounting/client_connection.hpp"
#include "blockdev/accounting/client_stats.hpp"
#include "blockdev/accounting/io_transitions.hpp"
#include "blockdev/accounting/subject.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/queue/client.hpp"
#include "blockdev/ring/planted.hpp"

namespace blkscope {

class Clients {
  public:
    static constexpr hrtime_t rest_ns = 10'000'000'000;

    Clients(const Seqlock& seq, const Subject& subject) : seq_(seq), subject_(subject) {}
    ~Clients();
    Clients& operator=(Clients&&) = delete;

    void entered(const Buf& buf) {
        if (counts(buf)) enter_waitq(buf.client->stats->io(), buf);
    }
    void started(const Buf& buf) {
        if (counts(buf)) enter_runq(buf.client->stats->io(), buf);
    }
    void ended(const Buf& buf) {
        if (buf.client == nullptr) return;
        if (buf.in_queues()) leave_runq(buf.client->stats->io(), buf);
        buf.client->stats->operations().ended(buf);
    }

    /// A connection has opened. Its client, which is new or has other connections.
    Client& open(const ClientIdentity& who, const ConnectionFigures& figures, hrtime_t now_ns);

    /// A connection without requests has closed. If the client's own statistics end with it, they
    /// are returned, and the caller passes them to take_over_closed().
    [[nodiscard]] std::unique_ptr<ClientStats> close(Client& client,
                                                     const ConnectionFigures& figures,
                                                     hrtime_t now_ns);

    /// Add the statistics of a closed client to `client-gone`. The first is for the outside of a write
    /// of the sequence lock, the second for the inside.
    void take_over_connections(const ClientStats& closed) { gone_->take_over_connections(closed); }
    void take_over_closed(const ClientStats& closed) {
        if (!planted("client-vanishes")) gone_->take_over(closed);
    }

    /// The client, by the name of its statistics, and its TLS name, for the clients that have both.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> tls_names() const;

    /// The live counters of each client with statistics of its own, of `client-other` and of
    /// `client-gone`, in ticks.
    [[nodiscard]] std::vector<const kstat_io_t*> counters() const;

  private:
    [[nodiscard]] static bool counts(const Buf& buf) {
        return buf.client != nullptr && buf.in_queues();
    }
    [[nodiscard]] bool has_place(hrtime_t now_ns);
    ClientStats& stats_for(Client& client, const ClientIdentity& who, hrtime_t now_ns);
    Client& make(const ClientIdentity& who, hrtime_t now_ns);

    const Seqlock& seq_;
    const Subject subject_;
    std::map<std::string, std::unique_ptr<Client>> clients_;     // by key
    std::map<const Client*, std::unique_ptr<ClientStats>> own_;  // of the clients that have them
    std::list<hrtime_t> resting_;                                // when their places became free
    uint32_t last_number_ = 0;
    std::unique_ptr<ClientStats> other_;  // with gone_, from the first client on
    std::unique_ptr<ClientStats> gone_;
};

}  // namespace blkscope
