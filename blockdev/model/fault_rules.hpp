// FaultRules: which rule of a device strikes which request. The first match in their order wins.
//
//     request ─▶ rule 1: concerns it? after, every, count, for, chance? ── all yes ─▶ Hit
//                  │ no
//                  └─▶ rule 2 ...
//
// `after` and `every` count the requests that reach the rule, match its operation and sectors, and
// come within its time. The chance of the n-th of them is a function of seed, rule and n. The same
// seed and the same order of requests have the same faults.
//
// Units:     nanoseconds of the caller's clock; bytes.
// Ownership: owns the rules. Borrows each buf for the call. A Hit borrows its rule until the next
//            add() or remove().
// Threads:   one at a time.
// Errors:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "blockdev/model/draws.hpp"
#include "blockdev/model/fault_rule.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope::model {

class FaultRules {
  public:
    struct Entry {
        uint32_t id = 0;
        FaultRule rule;
        hrtime_t added = 0;
        uint64_t seen = 0;  // requests that the rule concerned
        uint64_t hits = 0;
    };
    struct Hit {
        uint32_t id = 0;
        const FaultRule* rule = nullptr;
        Draws draws;  // for the delay, the bytes to flip, or the sectors to write
    };

    explicit FaultRules(uint64_t seed) : seed_(seed) {}

    /// Adds a rule behind the others. Returns its number, which no other rule gets.
    uint32_t add(FaultRule rule, hrtime_t now);
    /// False if there is no rule with this number.
    bool remove(uint32_t id);
    void clear() { entries_.clear(); }
    [[nodiscard]] bool has(uint32_t id) const;
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

    /// The rule that strikes this request, counted as a hit.
    [[nodiscard]] std::optional<Hit> strike(const Buf& buf, hrtime_t now);

  private:
    [[nodiscard]] std::optional<Draws> strikes(Entry& entry, const Buf& buf, hrtime_t now) const;

    uint64_t seed_;
    uint32_t last_id_ = 0;
    std::vector<Entry> entries_;
};

/// Flips all bits of `count` bytes, each at a random place of its own part of `data`.
void corrupt(std::span<std::byte> data, uint64_t count, Draws draws);

/// The bytes that are written of a torn write of `bcount` bytes at `offset`. The
/// last of these bytes ends a sector of the device. At least the write's last sector is missing.
uint64_t torn_bytes(uint64_t offset, uint64_t bcount, Draws draws);

}  // namespace blkscope::model
