// TimerCounts: how long a device's other operations take.
//
// Published: nbd:N:nbdN,timers, TIMER of class misc.
//     flush, trim, write_zeroes  from start() to done(); the run queue times reads and writes
//     submit                     a turn of the worker, from its first buf that went to the backing
//                                to the submission of all operations of the turn
//
// Units:     ticks inside, nanoseconds for readers.
// Ownership: owns the counters and the kstat; borrows the sequence lock.
// Threads:   a worker, with the device locked and inside its sequence lock.
// Errors:    the constructor throws std::runtime_error.
// Source:    kstat_timer(9S).
#pragma once

#include <array>
#include <cstddef>

#include "base/seqlock.hpp"
#include "blockdev/accounting/owned_kstat.hpp"
#include "blockdev/accounting/timer.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class TimerCounts {
  public:
    TimerCounts(const Seqlock& seq, const Subject& subject);

    void ended(const Buf& buf) {
        switch (buf.op) {
            case Buf::Op::flush:
                return timers_[flush].event(buf.started, buf.finished);
            case Buf::Op::trim:
                return timers_[trim].event(buf.started, buf.finished);
            case Buf::Op::write_zeroes:
                return timers_[write_zeroes].event(buf.started, buf.finished);
            case Buf::Op::read:
            case Buf::Op::write:
            case Buf::Op::cache:
            case Buf::Op::block_status:
                return;  // reads and writes are in the queues; no program waits for the others
        }
    }
    void submitted(hrtime_t from, hrtime_t to) { timers_[submit].event(from, to); }

  private:
    enum Index : size_t { flush, trim, write_zeroes, submit, count };

    static int update(kstat_t* ksp, int rw);

    const Seqlock& seq_;
    std::array<Timer, count> timers_{};
    OwnedKstat kstat_;  // last: destroyed before the data that readers use
};

}  // namespace blkscope
