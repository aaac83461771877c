// OpCounts: requests, bytes and errors by operation, of a device or of one of its clients.
//
// The records of a NAMED kstat, for each operation: OP_requests, OP_bytes, OP_errors.
//
// Units:     requests, bytes.
// Ownership: owns the counters.
// Threads:   a worker, with the device locked; readers observe each number by itself.
// Errors:    none.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/seqlock.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class OpCounts {
  private:
    struct Counters {
        uint64_t requests = 0;
        uint64_t bytes = 0;
        uint64_t errors = 0;
    };
    struct Record {
        const char* name;
        uint64_t Counters::*count;
    };
    static constexpr std::array<Record, 3> records{Record{"requests", &Counters::requests},
                                                   Record{"bytes", &Counters::bytes},
                                                   Record{"errors", &Counters::errors}};

  public:
    static constexpr uint_t record_count = Buf::op_count * records.size();

    void ended(const Buf& buf) {
        assert(static_cast<size_t>(buf.op) < counters_.size());
        Counters& counters = counters_[static_cast<size_t>(buf.op)];
        add(counters.requests, 1);
        add(counters.bytes, buf.moved());
        if (buf.error != 0) add(counters.errors, 1);
    }

    /// Adds the counts of another client, which counts no more.
    void take_over(const OpCounts& other);

    /// Names the records from `record` on. Returns the record behind them.
    static kstat_named_t* name_records(kstat_named_t* record);
    /// Copies the counts to the records from `record` on. Returns the record behind them.
    kstat_named_t* fill_records(kstat_named_t* record) const;

  private:
    static void add(uint64_t& counter, uint64_t n) { publish(counter, counter + n); }

    std::array<Counters, Buf::op_count> counters_{};
};

}  // namespace blkscope
