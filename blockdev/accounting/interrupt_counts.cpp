#include "blockdev/accounting/interrupt_counts.hpp"

#include <algorithm>
#include <cerrno>

#include "blockdev/ring/ring.hpp"

namespace blkscope {

InterruptCounts::InterruptCounts(const Seqlock&, const Subject& subject) {
    if (!subject.published()) return;
    kstat_ = create_device_kstat(subject, {"intr", "controller", KSTAT_TYPE_INTR, 1}, this, update);
    kstat_install(kstat_.get());
}

void InterruptCounts::ring_added(const Ring& ring) {
    const std::lock_guard guard(rings_mutex_);
    assert(std::ranges::find(rings_, &ring, &Joined::ring) == rings_.end());
    rings_.push_back({&ring, ring.empty_wakeups()});
}

void InterruptCounts::ring_removed(const Ring& ring) {
    const std::lock_guard guard(rings_mutex_);
    const auto joined = std::ranges::find(rings_, &ring, &Joined::ring);
    assert(joined != rings_.end());
    empty_wakeups_before_ += ring.empty_wakeups() - joined->empty_wakeups_before;
    rings_.erase(joined);
}

uint32_t InterruptCounts::empty_wakeups() const {
    const std::lock_guard guard(rings_mutex_);
    uint32_t count = empty_wakeups_before_;
    for (const Joined& joined : rings_) {
        count += joined.ring->empty_wakeups() - joined.empty_wakeups_before;
    }
    return count;
}

int InterruptCounts::update(kstat_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& counts = *static_cast<const InterruptCounts*>(ksp->ks_private);
    uint_t* to = KSTAT_INTR_PTR(ksp)->intrs;
    for (size_t i = 0; i < KSTAT_NUM_INTRS; ++i) to[i] = observe(counts.counts_.intrs[i]);
    to[KSTAT_INTR_SPURIOUS] = counts.empty_wakeups();
    return 0;
}

}  // namespace blkscope
