#include "blockdev/io_kstat.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <kstat/clock.hpp>
#include <kstat/queues.hpp>
#include <kstat/snapshot.hpp>

namespace blkscope {

IoKstat::IoKstat(const kstat::Seqlock& seq, int instance, const std::string& name,
                 const char* ks_class, uint32_t block_bytes)
    : devstat(seq, instance, name, std::strcmp(ks_class, partition_class) == 0, block_bytes),
      seq_(seq),
      // Virtual: the data is ours, in ticks; snapshot() copies and scales it.
      kstat_(kstat_create(device_module, instance, name.c_str(), ks_class, KSTAT_TYPE_IO, 1,
                          KSTAT_FLAG_VIRTUAL)) {
    if (!kstat_) return;
    kstat_->ks_data = &io;
    kstat_->ks_private = this;
    kstat_->ks_snapshot = snapshot;
    kstat_install(kstat_.get());
}

int IoKstat::snapshot(kstat_t* ksp, void* out, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const auto& stats = *static_cast<const IoKstat*>(ksp->ks_private);
    // The worker opens its write before it reads the clock. So once its stores are visible, a
    // transition that was stamped before `now` is in the copy, or holds the copy up until it is.
    // One that was stamped after `now` may be in it too: then its moment is the snapshot's.
    const hrtime_t asked = kstat::now_unscaled();
    kstat::make_stores_visible();
    const kstat_io_t copy = stats.seq_.read([&] { return kstat::observe(stats.io); });
    const hrtime_t now = std::max({asked, copy.wlastupdate, copy.rlastupdate});
    const kstat_io_t scaled = kstat::io_snapshot(copy, now);
    ksp->ks_snaptime = kstat::to_ns(now);
    std::memcpy(out, &scaled, sizeof scaled);
    return 0;
}

}  // namespace blkscope
