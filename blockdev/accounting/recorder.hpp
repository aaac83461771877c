// Recorder: the last requests of one worker, whatever their devices, in a ring of records.
//
//              ┌── overwritten next
//     [ n ][ n-4 ][ n-3 ][ n-2 ][ n-1 ]      n records so far, which head() returns
//       └── written last
//
// The worker stores a record when the reply of a request was sent. A request that is dropped without
// a reply is recorded then. A record is a copy of the request's stamps and fields, so no clock is read. There
// is no lock. A reader copies records and looks at the head again. Records that the worker may have
// overwritten meanwhile are lost for this reader, and are counted.
//
// Units:     ticks of the kernel's clock in records; nanoseconds for readers.
// Ownership: owns the ring, which is mapped at the first record and uses a page at its first write.
// Threads:   record(): one worker. head() and read(): any.
// Errors:    without memory for the mapping nothing is recorded.
#pragma once

#include <sys/kstat.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/seqlock.hpp"
#include "base/zeroed_pages.hpp"
#include "blockdev/queue/buf.hpp"
#include "blockdev/ring/kernel.hpp"
#include "trace/request.hpp"

namespace blkscope {

class Recorder {
  public:
    static constexpr size_t default_records = 65536;

    /// A ring of `records`; 0: nothing is recorded. `kernel` outlives the recorder.
    Recorder(const Kernel& kernel, size_t records) : kernel_(kernel), records_(records) {}
    Recorder& operator=(Recorder&&) = delete;

    /// Records a request that has ended.
    void record(const Buf& buf) {
        if (records_ == 0) return;
        Slot* const slots = slots_.load(std::memory_order_relaxed);
        if (slots == nullptr) return map_and_record(buf);
        store(slots[place_], buf);
        if (++place_ == records_) place_ = 0;
        publish(head_, head_ + 1);
    }

    /// The number of records since the beginning.
    [[nodiscard]] uint64_t head() const { return observe(head_); }

    struct Read {
        uint64_t next = 0;  // the first record that was not read
        uint64_t lost = 0;  // records that were overwritten before they were read
    };
    /// Appends the requests of `device` among the records from `from` on to `requests`. Looks at
    /// `records_max` records at most.
    Read read(uint64_t from, size_t records_max, uint32_t device,
              std::vector<trace::Request>& requests) const;

  private:
    /// The words of a record: the five stamps, drawn_ns, offset, bytes; device and client; depth,
    /// error, operation and flags. The last two are the cookies.
    using Slot = std::array<uint64_t, 12>;

    static void store(Slot& slot, const Buf& buf);
    void map_and_record(const Buf& buf);
    [[nodiscard]] trace::Request request_of(const Slot& slot) const;

    const Kernel& kernel_;
    const size_t records_;
    size_t place_ = 0;  // of the next record; the worker's
    bool failed_ = false;
    std::optional<ZeroedPages> memory_;  // from the first record on
    std::atomic<Slot*> slots_{nullptr};  // in it
    uint64_t head_ = 0;
};

/// A request of the device `instance` that is under way or has ended, as it is recorded. Later
/// stamps are 0. The caller is the worker that has the request, with the device locked.
[[nodiscard]] trace::Request recorded(const Kernel& kernel, const Buf& buf, int instance);

}  // namespace blkscope
