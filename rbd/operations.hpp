// Operations: the work that librbd does for a backing now, and since when.
//
//     start(buf) ──▶ running ── end() ───────────────────▶ the buf has its result
//                       └─ expire(now) ─▶ orphan ─ end() ─▶ no request waits for it
//
// librbd cannot cancel. An operation whose time is up loses its request and becomes an orphan. Its
// memory stays until librbd has ended it. The memory of a request is never lent to librbd. Reads go
// to the operation's memory, and librbd copies the data of writes.
//
// Units:     bytes; deadlines in ticks of the ring's clock.
// Ownership: owns the operations and their memory; borrows the bufs until end() or expire().
// Threads:   one at a time.
// Errors:    none.
#pragma once

#include <sys/kstat.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "blockdev/queue/buf.hpp"

namespace blkscope::rbd {

struct Operation {
    Buf* buf = nullptr;  // nullptr: an orphan, or a read of the device itself
    hrtime_t deadline = 0;
    uint64_t bytes = 0;                   // of the range
    std::unique_ptr<std::byte[]> memory;  // of a read
    size_t memory_bytes = 0;
    std::optional<int64_t> result;  // of a read of the device itself, when it has ended

  private:
    friend class Operations;
    enum class State : uint8_t { idle, running, awaited, orphan };
    State state_ = State::idle;
    std::list<Operation>::iterator self_;
};

class Operations {
  public:
    /// Begins an operation of `buf`. Deadlines never decrease.
    Operation& start(Buf& buf, hrtime_t deadline);
    /// Begins a read of the device itself, which end() does not reuse before dismiss().
    Operation& start_awaited();

    /// The operation's memory, with room for `bytes`.
    [[nodiscard]] std::byte* memory_of(Operation& operation, size_t bytes);

    /// librbd has ended the operation, or has refused it. The operation may be used again, with its
    /// memory. A read of the device itself gets its result.
    void end(Operation& operation, int64_t result);
    /// The device itself waits no more. Without a result the operation becomes an orphan.
    void dismiss(Operation& operation);
    /// Takes the buf of the oldest operation if its time is up at `now`. The operation is an orphan.
    Buf* expire(hrtime_t now);

    /// The deadline of the oldest request; nothing if there is none.
    [[nodiscard]] std::optional<hrtime_t> next_deadline() const;
    /// Operations that librbd has, and for which no request waits.
    [[nodiscard]] size_t orphans() const { return orphans_.size(); }
    /// All operations that librbd has.
    [[nodiscard]] size_t in_librbd() const {
        return running_.size() + awaited_.size() + orphans_.size();
    }
    /// Requests that wait for their results.
    [[nodiscard]] size_t requests() const { return running_.size(); }

  private:
    using List = std::list<Operation>;

    Operation& take_idle();
    List& list_of(const Operation& operation);
    void move(Operation& operation, Operation::State state);
    void rest(Operation& operation);

    List running_;  // the oldest first
    List awaited_;
    List orphans_;
    List idle_;
};

}  // namespace blkscope::rbd
