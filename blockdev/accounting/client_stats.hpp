// ClientStats: the statistics of one client, or of several that share them, and their two kstats.
//
// Published (instance N):
//     nbd:N:nbdN,WHAT        IO of class client: the two queues, as these clients alone load them
//     nbd:N:nbdN,WHAT,info   NAMED of class client:
//         peer, program        strings: an address or a process, and the name of its program
//         uid, pid             of a process; else -1 and 0
//         connections          open connections
//         connections_total    connections since the begin
//         OP_requests and so on: see OpCounts
//         held_bytes           memory that the connections hold for the data of their requests
//         stalls               requests that waited for memory, or because the connection had as
//                              many requests as it may have
//         limited_ns           the time in which the client's first request that could start
//                              otherwise lacked tokens of its own limits
//
// Units:     ticks inside, nanoseconds for readers; bytes, requests.
// Ownership: owns the counters and the kstats; borrows the sequence lock, and each connection's
//            figures from add_connection() to remove_connection().
// Threads:   a worker, with the device locked. Readers of the info kstat lock the list of
//            connections for a moment, and never the device.
// Errors:    a kstat that cannot be created is missing. Requests are served as usual.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/seqlock.hpp"
#include "blockdev/accounting/client_connection.hpp"
#include "blockdev/accounting/io_kstat.hpp"
#include "blockdev/accounting/op_counts.hpp"
#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/accounting/subject.hpp"

namespace blkscope {

class ClientStats {
  public:
    /// `what` is the part of the names behind the comma.
    ClientStats(const Seqlock& seq, const Subject& subject, const std::string& what,
                ClientIdentity who = {});
    ClientStats& operator=(ClientStats&&) = delete;

    /// The live counters of the two queues, in ticks.
    [[nodiscard]] kstat_io_t& io() { return io_.io; }
    [[nodiscard]] OpCounts& operations() { return operations_; }

    void add_connection(const ConnectionFigures& figures);
    void remove_connection(const ConnectionFigures& figures);

    /// The first request lacked tokens of the client's own limits for so long.
    void lacked_tokens(uint64_t ns) { publish(limited_ns_, limited_ns_ + ns); }
    [[nodiscard]] uint64_t limited_ns() const { return limited_ns_; }

    /// Adds the counts of a client that has closed all its connections. Busy times are not added,
    /// because two clients may have been busy at the same time. For the inside of a write of the
    /// sequence lock.
    void take_over(const ClientStats& closed);
    /// Adds the connections of such a client. Call it outside of a write of the sequence lock.
    /// Inside, a reader that has locked the list would make all readers of the device wait.
    void take_over_connections(const ClientStats& closed);

    /// Removes the kstats, so that readers no longer see them. Waits for readers, so call it outside
    /// of a write of the sequence lock.
    void withdraw();

  private:
    void publish_info(const Subject& subject, const std::string& what);
    static int update(kstat_t* ksp, int rw);

    const ClientIdentity who_;
    IoKstat io_;
    OpCounts operations_;
    uint64_t limited_ns_ = 0;

    mutable std::mutex mutex_;  // protects the members below
    std::vector<const ConnectionFigures*> connections_;
    uint64_t connections_total_ = 0;
    uint64_t closed_stalls_ = 0;  // of connections that have closed

    OwnedKstat info_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
