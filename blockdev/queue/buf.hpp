// Buf: one request to a block device, on its way from strategy() to iodone.
//
//     idle ── strategy() ──▶ waiting ── start() ──▶ running ── done() ──▶ idle, iodone
// received     queued                    started                finished          replied
//                                   │                      │
//                                   └─▶ called             └─▶ ended     on the way to the worker
//                                                                        of the buf's own lane
//
// The caller fills in the request and hands the buf to Device::strategy(). The device owns the buf
// until it calls iodone. Calling iodone is the last thing that the device does with the buf.
//
// Units:     offset, bcount, resid in bytes; the five stamps in ticks of gethrtime_unscaled().
// Ownership: the caller owns buf and data, and lends both from strategy() to iodone.
// Threads:   the worker of the lane that strategy() was called with. iodone is called there, too.
// Errors:    `error` is an errno, 0 for success. Then resid is 0, but not for a block status whose
//            list of extents is full.
// Source:    buf(9S), strategy(9E), biodone(9F).
#pragma once

#include <sys/kstat.h>

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "blockdev/queue/extent.hpp"
#include "blockdev/queue/fifo.hpp"
#include "blockdev/ring/ring.hpp"
#include "trace/request.hpp"

namespace blkscope {

class Lane;
class VolumeKstat;
struct Client;
struct Plan;

class Buf : public Completion {
  public:
    /// The operations. Those before `cache` have histograms: see RequestHistograms. A new operation
    /// needs a name in trace::op_names, and a case in each switch over Op, which the compiler reports.
    enum class Op : uint8_t {
        read,
        write,
        flush,
        trim,
        write_zeroes,
        cache,
        block_status,
        last = block_status
    };
    static constexpr size_t op_count = static_cast<size_t>(Op::last) + 1;
    /// The operation's name in the kstats.
    [[nodiscard]] static constexpr const char* name_of(Op op);

    enum class State : uint8_t { idle, waiting, called, running, ended };
    enum class Next : uint8_t { again, finish };
    /// The part of the request that the current operation does. `work` moves the bytes. `sync` makes
    /// a trim or write_zeroes with FUA stable; for a write it asks whether an earlier sync failed.
    /// `settled` is the end of a failed write whose failure is its own.
    enum class Step : uint8_t { work, sync, settled };
    static constexpr uint8_t retries_max = 16;  // of EINTR and EAGAIN, per request

    // The request, filled in by the caller.
    Op op = Op::read;
    bool fua = false;           // done only when on stable storage (write, trim, write_zeroes)
    bool no_hole = false;       // write_zeroes: the range must stay provisioned
    bool fast_zero = false;     // write_zeroes: EOPNOTSUPP instead of slowly writing zeroes
    bool exempt = false;        // the server's own: no limit, model or fault concerns it
    uint64_t bcount = 0;        // bytes asked
    uint64_t offset = 0;        // first byte of the device
    std::byte* data = nullptr;  // bcount bytes of a read or write; the others have none
    ExtentList extents;         // block_status: the result. A read: its holes, if it has memory
    void (*iodone)(Buf&) = nullptr;
    uint64_t* losses_seen = nullptr;  // of Backing::losses(), the last that the caller was told
    Client* client = nullptr;         // the client that asked, or nullptr if it has no statistics
    uint64_t cookie = 0;              // the client's own number of the request
    // When the last byte of its header was received, and when its reply was sent. Both are 0 for
    // a request without a connection.
    hrtime_t received = 0;
    hrtime_t replied = 0;
    hrtime_t held_back = 0;  // between received and queued: how long it waited for memory

    // The result, filled in by the device.
    int error = 0;
    uint64_t resid = 0;        // bytes not moved
    bool disconnects = false;  // a fault: the caller closes the connection instead of an answer
    hrtime_t queued = 0;
    hrtime_t started = 0;
    hrtime_t finished = 0;
    uint64_t drawn_ns = 0;  // the service that a model or a fault drew
    // The cookie of the one message to another server that was the whole request; else 0.
    uint64_t upstream_cookie = 0;

    // Of the device and the backing; the caller does not touch these.
    State state = State::idle;
    Step step = Step::work;
    uint8_t zeroing_method = 0;  // write_zeroes to a file: a FileZeroing::Method
    uint8_t retries_left = 0;
    bool excused = false;           // the error is a fault's, and no error of the device
    bool injected = false;          // the error is a fault's or a lost server's, and does not stay
    int write_error = 0;            // the error of a write's first step, in its later steps
    uint32_t depth_on_arrival = 0;  // reads and writes in the device when this request arrived
    uint64_t covers = 0;            // bytes that are done if the current operation returns 0
    hrtime_t handed_to_ring = 0;    // when the ring got a write that is timed; 0 if it is not timed
    Lane* lane = nullptr;           // the lane that strategy() was called with
    VolumeKstat* partition = nullptr;  // the partition that contains the request, or nullptr
    hrtime_t newest = 0;               // of a flush: the arrival of the newest flush that it serves
    hrtime_t tokens_since = 0;  // when the tokens of the request were there, on the model's clock
    Plan* plan = nullptr;       // of a device with a model or faults; else nullptr
    Buf* next = nullptr;        // the next member of the same queue

    /// Reads and writes, which kstat_io counts. The other operations have counters of their own.
    [[nodiscard]] bool in_queues() const { return op == Op::read || op == Op::write; }
    /// The request may be answered only when its data is on stable storage.
    [[nodiscard]] bool must_be_stable() const { return fua || op == Op::flush; }
    /// The operation replaces data by zeroes or a hole. A second step makes it stable.
    [[nodiscard]] bool discards() const { return op == Op::trim || op == Op::write_zeroes; }
    /// The current step only makes data stable, so data may be lost if it fails. The first step of
    /// a write does not count, with or without FUA: its data was never acknowledged. If a backing
    /// finds that the sync within a FUA write has failed, it leaves the step at `sync`.
    [[nodiscard]] bool syncs() const { return op == Op::flush || (fua && step == Step::sync); }
    /// A fast_zero request was refused because it would have been slow, which is no failure.
    [[nodiscard]] bool declined() const;
    /// The bytes that have been moved so far.
    [[nodiscard]] uint64_t moved() const {
        assert(resid <= bcount);
        return bcount - resid;
    }

    /// Applies one completion: `result` is the bytes moved, or -errno. Returns whether the rest of
    /// the request needs another operation, or the request has finished.
    Next absorb(int32_t result);

    /// Whether the caller still waits for the answer. If not, no fault makes the request hang.
    /// The worker of the buf's lane asks.
    [[nodiscard]] virtual bool wanted() const { return true; }
    /// Whether the caller is lost: it has ended without an announcement. The request then has no
    /// further effect, because requests of newer callers may be done already. The worker of the buf's
    /// lane asks.
    [[nodiscard]] virtual bool orphaned() { return false; }

    /// From the ring, when an operation of the buf has ended: calls Device::complete().
    void complete(int32_t result) override;
};

constexpr const char* Buf::name_of(Op op) {
    static_assert(static_cast<uint8_t>(Op::last) == static_cast<uint8_t>(trace::last_op));
    return trace::name_of(static_cast<trace::Op>(op));
}

using BufQueue = Fifo<Buf, &Buf::next>;

}  // namespace blkscope
