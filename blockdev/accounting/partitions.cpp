#include "blockdev/accounting/partitions.hpp"

#include <algorithm>
#include <utility>

namespace blkscope {

VolumeKstat* Partitions::find_among_present(uint64_t offset, uint64_t bytes) const {
    const auto next = std::ranges::upper_bound(
        present_, offset, {}, [](const Present& present) { return present.where.first_byte; });
    if (next == present_.begin()) return nullptr;
    const Present& candidate = *(next - 1);
    assert(candidate.stats != nullptr);
    return offset + bytes <= candidate.where.end() ? candidate.stats.get() : nullptr;
}

std::vector<const kstat_io_t*> Partitions::counters() const {
    std::vector<const kstat_io_t*> all;
    for (const Present& present : present_) all.push_back(&present.stats->io);
    assert(all.size() == present_.size());
    return all;
}

// The counters of a partition that exists already, in the same place.
std::unique_ptr<VolumeKstat> Partitions::take(const Partition& where) {
    const auto found = std::ranges::find(present_, where, &Present::where);
    return found == present_.end() ? nullptr : std::move(found->stats);
}

void Partitions::replace(const std::vector<Partition>& table) {
    assert(std::ranges::is_sorted(table, {}, &Partition::first_byte));
    std::erase_if(removed_, [](const auto& stats) { return stats->devstat.idle(); });
    std::vector<Present> next;
    next.reserve(table.size());
    for (const Partition& where : table) next.push_back({where, take(where)});
    // Old partitions are removed first: a new one may have the same name.
    for (Present& old : present_) {
        if (!old.stats) continue;
        old.stats->withdraw();
        removed_.push_back(std::move(old.stats));
    }
    for (Present& present : next) {
        if (present.stats) continue;
        const std::string device = device_module + std::to_string(instance_);
        const std::string name = device + "," + std::to_string(present.where.number);
        assert(present.where.number > 0);
        present.stats =
            std::make_unique<VolumeKstat>(seq_, instance_, name, partition_class, block_bytes_);
    }
    present_ = std::move(next);
}

}  // namespace blkscope
