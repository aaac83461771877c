// DevstatCounters: FreeBSD's device statistics of a disk or a partition, beside its kstat_io_t and
// published as an entry of <devstat.h>.
//
//     strategy()            done()
//         |---- duration ------|          of each request, by kind: waiting is part of it
//     |------- busy_time ------------|    from the first of several to the last; each end adds the
//                                         time since the end before
//
//     read            READ
//     write           WRITE
//     trim            FREE
//     write_zeroes    FREE if it may leave a hole, else WRITE
//     the others      NO_DATA, without bytes
//
// All requests count. The requests in flight are therefore those of both queues of kstat_io_t and
// the other operations together.
//
// A disk is an entry of the list, nbdN. The entry of a partition has no name of its own, as on
// FreeBSD; only its kstat has one.
//
// Units:     ticks of gethrtime_unscaled() inside; struct bintime for readers.
// Ownership: owns the counters and the entry; borrows the device's sequence lock.
// Threads:   begin() and end(): a worker, with the device locked and inside the sequence lock.
//            Readers run on the control thread and never block the worker.
// Errors:    none; an entry that cannot be published is missing.
// Source:    devstat(9); devstat_start_transaction, devstat_end_transaction.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>

#include "base/seqlock.hpp"
#include "blockdev/queue/buf.hpp"
#include "devstat/entries/entry.hpp"

namespace blkscope {

class DevstatCounters {
  public:
    /// `name` is the name of the disk's or partition's kstat. With a negative instance nothing is
    /// published.
    DevstatCounters(const Seqlock& seq, int instance, const std::string& name, bool is_partition,
                    uint32_t block_bytes);
    DevstatCounters& operator=(DevstatCounters&&) = delete;

    /// Removes the entry, so that readers no longer see it. The counters stay.
    void withdraw() { entry_.reset(); }

    /// Every request that has begun has also ended.
    [[nodiscard]] bool idle() const { return live_.starts == live_.ends; }

    /// A request has arrived at `now`.
    void begin(hrtime_t now) {
        if (idle()) publish(live_.busy_from, now);
        publish(live_.starts, live_.starts + 1);
    }

    /// A request ends, with its stamps set. Its `queued` was the argument of begin().
    void end(const Buf& buf) {
        assert(!idle());
        PerKind& kind = live_.kinds[kind_of(buf)];
        if (&kind != &live_.kinds[DEVSTAT_NO_DATA]) add(kind.bytes, buf.moved());
        add(kind.operations, uint64_t{1});
        add(kind.duration, buf.finished - buf.queued);
        add(live_.busy_time, buf.finished - live_.busy_from);
        publish(live_.busy_from, buf.finished);
        publish(live_.ends, live_.ends + 1);
    }

  private:
    struct PerKind {
        uint64_t bytes = 0;
        uint64_t operations = 0;
        hrtime_t duration = 0;
    };

    struct Counters {
        uint32_t starts = 0;
        uint32_t ends = 0;
        hrtime_t busy_from = 0;
        hrtime_t busy_time = 0;
        std::array<PerKind, DEVSTAT_N_TRANS_FLAGS> kinds{};
    };

    template <class T>
    static void add(T& counter, T n) {
        publish(counter, counter + n);
    }
    static devstat_trans_flags kind_of(const Buf& buf);
    static Counters observe(const Counters& live);
    static void fill(const void* owner, devstat::Devstat& out);

    const Seqlock& seq_;
    Counters live_;
    std::optional<devstat::Entry> entry_;  // last: destroyed before the data that readers use
};

inline devstat_trans_flags DevstatCounters::kind_of(const Buf& buf) {
    switch (buf.op) {
        case Buf::Op::read:
            return DEVSTAT_READ;
        case Buf::Op::write:
            return DEVSTAT_WRITE;
        case Buf::Op::trim:
            return DEVSTAT_FREE;
        case Buf::Op::write_zeroes:
            return buf.no_hole ? DEVSTAT_WRITE : DEVSTAT_FREE;
        case Buf::Op::flush:
        case Buf::Op::cache:
        case Buf::Op::block_status:
            break;
    }
    return DEVSTAT_NO_DATA;
}

}  // namespace blkscope
