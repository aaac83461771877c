#include "blockdev/accounting/devstat_counters.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "blockdev/accounting/io_kstat.hpp"
#include "devstat/entries/bintime.hpp"

namespace blkscope {
namespace {

// The block size that is reported for a device without a block size.
constexpr uint32_t sector_bytes = 512;

devstat::Identity identity_of(int instance, const std::string& name, bool is_partition,
                              uint32_t block_bytes, const void* id) {
    assert(instance >= 0);
    devstat::Identity identity;
    identity.name = device_module;
    identity.unit = instance;
    identity.block_size = std::max(block_bytes, sector_bytes);
    identity.type = static_cast<devstat_type_flags>(DEVSTAT_TYPE_DIRECT | DEVSTAT_TYPE_IF_OTHER);
    identity.priority = DEVSTAT_PRIORITY_DISK;
    identity.anonymous = is_partition;
    identity.label = name;
    identity.id = id;
    return identity;
}

bintime bintime_of_ticks(hrtime_t ticks) {
    return devstat::bintime_of(to_ns(ticks));
}

}  // namespace

DevstatCounters::DevstatCounters(const Seqlock& seq, int instance, const std::string& name,
                                 bool is_partition, uint32_t block_bytes)
    : seq_(seq) {
    if (instance < 0) return;
    entry_.emplace(identity_of(instance, name, is_partition, block_bytes, this), this, fill);
    if (!entry_->publish()) entry_.reset();  // kstat_create() has reported why
}

DevstatCounters::Counters DevstatCounters::observe(const Counters& live) {
    Counters copy;
    copy.starts = blkscope::observe(live.starts);
    copy.ends = blkscope::observe(live.ends);
    copy.busy_from = blkscope::observe(live.busy_from);
    copy.busy_time = blkscope::observe(live.busy_time);
    for (size_t i = 0; i < copy.kinds.size(); ++i) {
        copy.kinds[i].bytes = blkscope::observe(live.kinds[i].bytes);
        copy.kinds[i].operations = blkscope::observe(live.kinds[i].operations);
        copy.kinds[i].duration = blkscope::observe(live.kinds[i].duration);
    }
    return copy;
}

// The two sequences count updates that have begun and updates that have ended. In a consistent copy
// both are the sum of starts and ends, so they need no counters.
void DevstatCounters::fill(const void* owner, devstat::Devstat& out) {
    const auto& counters = *static_cast<const DevstatCounters*>(owner);
    make_stores_visible();
    const Counters copy = counters.seq_.read([&] { return observe(counters.live_); });
    out.sequence0 = copy.starts + copy.ends;
    out.sequence1 = out.sequence0;
    out.start_count = copy.starts;
    out.end_count = copy.ends;
    out.busy_from = bintime_of_ticks(copy.busy_from);
    out.busy_time = bintime_of_ticks(copy.busy_time);
    for (size_t kind = 0; kind < copy.kinds.size(); ++kind) {
        out.bytes[kind] = copy.kinds[kind].bytes;
        out.operations[kind] = copy.kinds[kind].operations;
        out.duration[kind] = bintime_of_ticks(copy.kinds[kind].duration);
        out.tag_types[DEVSTAT_TAG_SIMPLE] += out.operations[kind];  // NBD orders nothing
    }
}

}  // namespace blkscope
