// ErrorKstat: a device's errors, counted at the end of each request.
//
// Published: nbderr:N:nbdN,err, NAMED of class device_error. The kstat is persistent, as the error
// kstats of sd and blkdev are. The errors can still be read when the device no longer exists.
//
// Units:     requests; the size in bytes.
// Ownership: owns the counts and the kstat.
// Threads:   a worker, with the device locked; readers observe each number by itself.
// Errors:    the constructor throws std::runtime_error.
#pragma once

#include <cassert>
#include <cstdint>

#include "base/seqlock.hpp"
#include "blockdev/accounting/error_counts.hpp"
#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class ErrorKstat {
  public:
    ErrorKstat(const Seqlock& seq, const Subject& subject);

    void ended(const Buf& buf) {
        assert(buf.retries_left <= Buf::retries_max);
        if (buf.error != 0) {
            if (!buf.declined() && !buf.excused) counts_.failed(buf.error);
        } else if (buf.retries_left != Buf::retries_max) {
            counts_.recovered();
        }
    }
    /// A request was not accepted, which is the client's mistake.
    void refused() { counts_.refused(); }

  private:
    static int update(kstat_t* ksp, int rw);

    ErrorCounts counts_;
    uint64_t size_bytes_;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
