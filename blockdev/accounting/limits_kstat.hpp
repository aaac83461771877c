// LimitsKstat: the kstat of a device's limits, as long as the device has limits.
//
// Published: nbd:N:nbdN,limits, NAMED of class misc. Each bucket (iops, bps, read_iops and so on) has
// three records:
//     spec               the text of the limits
//     NAME_rate          tokens per second
//     NAME_level         the tokens that are there, negative for a debt; with credits: the credits
//     NAME_exceeded_ns   the time in which the first request that could start otherwise lacked it
//
// The level changes while nothing happens. So a reader takes a copy of the buckets, for which the
// device is locked for some nanoseconds.
//
// Units:     operations or bytes; nanoseconds.
// Ownership: owns the kstat and the function.
// Threads:   any one thread constructs and destroys it, with the device unlocked.
// Errors:    a kstat that cannot be created is missing, and kstat_create() has reported why.
#pragma once

#include <functional>
#include <string>

#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/model/limits.hpp"

namespace blkscope {

class LimitsKstat {
  public:
    /// The buckets, and the moment of the copy.
    struct Copy {
        model::Limits limits;
        hrtime_t now = 0;
    };
    using Reader = std::function<Copy()>;

    LimitsKstat(const Subject& subject, const model::LimitSpec& spec, Reader reader);
    LimitsKstat& operator=(LimitsKstat&&) = delete;

  private:
    static int update(kstat_t* ksp, int rw);

    const std::string spec_;
    const Reader reader_;
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
