// CommandCounts: requests, bytes and errors by operation, and connections.
//
// Published: nbd:N:nbdN,cmds, NAMED of class misc. Each operation has the records of
// OpCounts: requests, bytes and errors. other_records() has the others:
//     syncs               flushes that were handed to the backing
//     connections         open connections
//     connections_total   connections since the device was created
//     sync_error          the errno of the first failed sync, 0 for none
//
// After a failed sync, each flush and each write with FUA fails with sync_error, until a user clears
// it.
//
// Units:     requests, bytes, connections.
// Ownership: owns the counters and the kstat.
// Threads:   a worker, with the device locked; readers observe each number by itself.
// Errors:    the constructor throws std::runtime_error.
#pragma once

#include <array>
#include <cstdint>

#include "base/seqlock.hpp"
#include "blockdev/accounting/op_counts.hpp"
#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class CommandCounts {
  public:
    CommandCounts(const Seqlock& seq, const Subject& subject);

    void ended(const Buf& buf) { operations_.ended(buf); }

    void synced() { add(syncs_, 1); }
    void sync_failed(int error) {
        assert(error > 0);
        publish(sync_error_, static_cast<uint64_t>(error));
    }

    void sync_error_cleared() { publish(sync_error_, uint64_t{0}); }

    void connection_opened();
    void connection_closed();
    [[nodiscard]] uint64_t connections() const { return connections_; }

  private:
    struct OtherRecord {
        const char* name;
        uint64_t CommandCounts::*count;
    };
    static constexpr auto other_records() {
        return std::to_array<OtherRecord>(
            {{"syncs", &CommandCounts::syncs_},
             {"connections", &CommandCounts::connections_},
             {"connections_total", &CommandCounts::connections_total_},
             {"sync_error", &CommandCounts::sync_error_}});
    }

    static void add(uint64_t& counter, uint64_t n) { publish(counter, counter + n); }
    static int update(kstat_t* ksp, int rw);

    OpCounts operations_;
    uint64_t syncs_ = 0;
    uint64_t connections_ = 0;
    uint64_t connections_total_ = 0;
    uint64_t sync_error_ = 0;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
