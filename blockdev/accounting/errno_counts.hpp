// ErrnoCounts: the failed requests of a device by operation and errno.
//
// Published: nbd:N:nbdN,errno, NAMED of class misc. The number of records changes:
//     read_EIO, write_ENOSPC, ...    one record for each pair that was seen, in their order
//     other                          requests with pairs that had no place any more
//
// The records count each request that OP_errors of nbd:N:nbdN,cmds counts, and no other.
//
// Units:     requests.
// Ownership: owns the counters, the records and the kstat.
// Threads:   a worker, with the device locked; readers observe each number by itself.
// Errors:    the constructor throws std::runtime_error.
#pragma once

#include <sys/mutex.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/seqlock.hpp"
#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class ErrnoCounts {
  public:
    /// Pairs with a record of their own.
    static constexpr size_t pairs_max = 16;

    ErrnoCounts(const Seqlock& seq, const Subject& subject);
    ~ErrnoCounts();
    ErrnoCounts& operator=(ErrnoCounts&&) = delete;

    void ended(const Buf& buf) {
        if (buf.error != 0) failed(buf.op, buf.error);
    }

  private:
    // A pair never changes once it has an errno.
    struct Pair {
        int error = 0;  // 0: the place is free
        Buf::Op op = Buf::Op::read;
        uint64_t count = 0;
    };

    void failed(Buf::Op op, int error);
    static int update(kstat_t* ksp, int rw);

    std::array<Pair, pairs_max> pairs_{};
    uint64_t other_ = 0;
    std::array<kstat_named_t, pairs_max + 1> records_{};
    kmutex_t lock_{};  // of the records
    OwnedKstat kstat_;
};

}  // namespace blkscope
