// Buf: one request to a block device, on its way from strategy() to iodone.
//
//     idle ── strategy() ──▶ waiting ── start() ──▶ running ── done() ──▶ idle, iodone
//              queued                    started                finished
//                                   │                      │
//                                   └─▶ called             └─▶ ended      on their way to the worker
//                                                                         of the buf's own lane
//
// The caller fills in what it wants and hands the buf to Device::strategy(); the device owns it
// until it calls iodone, which is the last thing that it does with it.
//
// Units:     offset, bcount, resid in bytes; the three stamps in ticks of gethrtime_unscaled().
// Ownership: the caller owns buf and data, and lends both from strategy() to iodone.
// Threads:   the worker of the lane that it was handed to, which has iodone called, too.
// Errors:    `error` is an errno, 0 for success; then resid is 0.
// Source:    buf(9S), strategy(9E), biodone(9F).
#pragma once

#include <sys/kstat.h>

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "blockdev/queue/extent.hpp"
#include "blockdev/queue/fifo.hpp"
#include "blockdev/ring/ring.hpp"

namespace blkscope {

class IoKstat;
class Lane;

class Buf : public Completion {
  public:
    enum class Op : uint8_t { read, write, flush, trim, write_zeroes, cache, block_status };
    static constexpr size_t op_count = 7;
    enum class State : uint8_t { idle, waiting, called, running, ended };
    enum class Next : uint8_t { again, finish };
    static constexpr uint8_t retries_max = 16;  // of EINTR and EAGAIN, per request

    // What is asked.
    Op op = Op::read;
    bool fua = false;           // done only when on stable storage (write, trim, write_zeroes)
    bool no_hole = false;       // write_zeroes: the range stays provisioned
    bool fast_zero = false;     // write_zeroes: EOPNOTSUPP rather than writing the zeroes out
    uint64_t bcount = 0;        // bytes asked
    uint64_t offset = 0;        // first byte of the device
    std::byte* data = nullptr;  // bcount bytes of a read or write; the others have none
    ExtentList extents;         // block_status: what is there. A read: its holes, if it asks
    void (*iodone)(Buf&) = nullptr;

    // What came of it.
    int error = 0;
    uint64_t resid = 0;  // bytes not moved
    hrtime_t queued = 0;
    hrtime_t started = 0;
    hrtime_t finished = 0;

    // The device's and the backing's own.
    State state = State::idle;
    uint8_t step = 0;    // of an operation that takes several (a trim, then a sync)
    uint8_t method = 0;  // the backing's own: how it is being done, or a write's error in step 1
    uint8_t retries_left = 0;
    uint32_t depth_on_arrival = 0;  // reads and writes that were in the device when it came
    uint64_t covers = 0;            // bytes that are done when the operation under way ends with 0
    Lane* lane = nullptr;           // by which it came
    IoKstat* partition = nullptr;   // that it lies in, if any
    Buf* next = nullptr;            // in the queue that it is in

    /// Reads and writes are what kstat_io counts; the others have counters of their own.
    [[nodiscard]] bool in_queues() const { return op == Op::read || op == Op::write; }
    /// May be answered only when it is on stable storage.
    [[nodiscard]] bool must_be_stable() const { return fua || op == Op::flush; }
    /// It leaves zeroes, or nothing, where there was data, and is made stable by a step of its own.
    [[nodiscard]] bool discards() const { return op == Op::trim || op == Op::write_zeroes; }
    /// The step under way only makes data stable, so if it fails, data may have been lost. A
    /// write's first step does not count, FUA or not: if it fails, nobody was promised its data.
    /// A backing that learns that the sync in it has failed sets step to 1.
    [[nodiscard]] bool syncs() const { return op == Op::flush || (fua && step == 1); }
    /// It was not done because it would not have been fast, as the caller wanted it: no failure.
    [[nodiscard]] bool declined() const;
    [[nodiscard]] uint64_t moved() const {
        assert(resid <= bcount);
        return bcount - resid;
    }

    /// Takes in one completion (`result` as the ring gives it: bytes moved, or -errno) and says
    /// whether the rest goes round again.
    Next absorb(int32_t result);

    void complete(int32_t result) override;
};

using BufQueue = Fifo<Buf, &Buf::next>;

}  // namespace blkscope
