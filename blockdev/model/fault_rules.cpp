#include "blockdev/model/fault_rules.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/seqlock.hpp"

namespace blkscope::model {
namespace {

// The streams of a device's rules, behind those of its operations.
constexpr uint64_t first_stream = uint64_t{1} << 32;

// Whether a rule's time has passed.
bool is_over(const FaultRules::Entry& entry, hrtime_t now) {
    assert(now >= entry.added);
    return entry.rule.lasts && static_cast<double>(now - entry.added) >= entry.rule.lasts->ns();
}

}  // namespace

uint32_t FaultRules::add(FaultRule rule, hrtime_t now) {
    assert(last_id_ < UINT32_MAX);
    entries_.push_back({.id = ++last_id_, .rule = std::move(rule), .added = now});
    return last_id_;
}

bool FaultRules::has(uint32_t id) const {
    return std::ranges::find(entries_, id, &Entry::id) != entries_.end();
}

bool FaultRules::remove(uint32_t id) {
    const auto at = std::ranges::find(entries_, id, &Entry::id);
    if (at == entries_.end()) return false;
    entries_.erase(at);
    return true;
}

std::optional<FaultRules::Hit> FaultRules::strike(const Buf& buf, hrtime_t now) {
    for (Entry& entry : entries_) {
        const auto draws = strikes(entry, buf, now);
        if (!draws) continue;
        publish(entry.hits, entry.hits + 1);  // others may read it meanwhile
        return Hit{entry.id, &entry.rule, *draws};
    }
    return std::nullopt;
}

// The draws for the fault, if all conditions hold.
std::optional<Draws> FaultRules::strikes(Entry& entry, const Buf& buf, hrtime_t now) const {
    const FaultRule& rule = entry.rule;
    if (!rule.concerns(buf) || is_over(entry, now)) return std::nullopt;
    const uint64_t number = ++entry.seen;
    if (number <= rule.after || (number - rule.after) % rule.every != 0) return std::nullopt;
    if (entry.hits >= rule.count) return std::nullopt;
    Draws draws(seed_, first_stream + entry.id, number);
    if (draws.below(rule.chance) != 0) return std::nullopt;
    return draws;
}

void corrupt(std::span<std::byte> data, uint64_t count, Draws draws) {
    assert(count > 0);
    const uint64_t parts = std::min<uint64_t>(count, data.size());
    for (uint64_t i = 0; i < parts; ++i) {
        const uint64_t begin = data.size() / parts * i + data.size() % parts * i / parts;
        const uint64_t end = data.size() / parts * (i + 1) + data.size() % parts * (i + 1) / parts;
        assert(begin < end);
        data[begin + draws.below(end - begin)] ^= std::byte{0xff};
    }
}

uint64_t torn_bytes(uint64_t offset, uint64_t bcount, Draws draws) {
    if (bcount == 0) return 0;
    const uint64_t first = offset / FaultRule::sector_bytes;
    const uint64_t last = (offset + bcount - 1) / FaultRule::sector_bytes;
    const uint64_t sectors = draws.below(last - first + 1);  // fewer than all
    if (sectors == 0) return 0;
    const uint64_t bytes = (first + sectors) * FaultRule::sector_bytes - offset;
    assert(bytes < bcount);
    return bytes;
}

}  // namespace blkscope::model
