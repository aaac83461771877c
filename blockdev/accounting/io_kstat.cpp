#include "blockdev/accounting/io_kstat.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "kstat/registry/queues.hpp"
#include "kstat/registry/snapshot.hpp"

namespace blkscope {

IoKstat::IoKstat(const Seqlock& seq, int instance, const std::string& name, const char* ks_class)
    : seq_(seq) {
    if (instance < 0) return;
    publish(instance, name, ks_class);
    publish_kstat2(instance, name, ks_class);
}

// Virtual: the data is this object's, in ticks. snapshot() copies and scales it.
void IoKstat::publish(int instance, const std::string& name, const char* ks_class) {
    assert(kstat_ == nullptr);
    kstat_.reset(kstat_create(device_module, instance, name.c_str(), ks_class, KSTAT_TYPE_IO, 1,
                              KSTAT_FLAG_VIRTUAL));
    if (!kstat_) return;
    kstat_->ks_data = &io;
    kstat_->ks_private = this;
    kstat_->ks_snapshot = snapshot;
    kstat_install(kstat_.get());
}

void IoKstat::publish_kstat2(int instance, const std::string& name, const char* category) {
    const std::string number = std::to_string(instance);
    std::array<const char*, 4> path{category, device_module, name.c_str(), number.c_str()};
    assert(kstat2_ == nullptr);
    kstat2_.reset(kstat2_create_with_template(
        path.data(), path.size(), ALL_ZONES, kstat2_lookup_template(KSTAT2_MT_IO), 0, nullptr,
        "reads and writes, and their two queues", KSTAT2_MF_STABLE));
    if (!kstat2_) return;
    kstat2_->ks2_private = this;
    kstat2_->ks2_update = update;
    kstat2_install(kstat2_.get());
}

IoKstat::Snapshot IoKstat::take_snapshot() const {
    // The worker opens its write before it reads the clock. Its stores are visible after
    // make_stores_visible(). The copy therefore contains each transition that was stamped before
    // `asked`, or waits for it. A later transition may be in the copy, too: then the snapshot has
    // the time of that transition.
    const hrtime_t asked = now_unscaled();
    make_stores_visible();
    const kstat_io_t copy = seq_.read([&] { return kstat::observe(io); });
    const hrtime_t now = std::max({asked, copy.wlastupdate, copy.rlastupdate});
    return {to_ns(now), kstat::io_snapshot(copy, now)};
}

int IoKstat::snapshot(kstat_t* ksp, void* out, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const Snapshot now = static_cast<const IoKstat*>(ksp->ks_private)->take_snapshot();
    ksp->ks_snaptime = now.taken;
    assert(ksp->ks_data_size == sizeof now.io);
    std::memcpy(out, &now.io, sizeof now.io);
    return 0;
}

int IoKstat::update(kstat2_t* ksp, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    const Snapshot now = static_cast<const IoKstat*>(ksp->ks2_private)->take_snapshot();
    const auto set = [](kstat2_named_t& pair, auto value) {
        pair.value.integer = static_cast<uint64_t>(value);
    };
    kstat2_io_t& pairs = *KSTAT2_IO_PTR(ksp);
    ksp->ks2_snaptime = now.taken;
    set(pairs.nread, now.io.nread);
    set(pairs.nwritten, now.io.nwritten);
    set(pairs.reads, now.io.reads);
    set(pairs.writes, now.io.writes);
    set(pairs.wtime, now.io.wtime);
    set(pairs.wlentime, now.io.wlentime);
    set(pairs.wlastupdate, now.io.wlastupdate);
    set(pairs.rtime, now.io.rtime);
    set(pairs.rlentime, now.io.rlentime);
    set(pairs.rlastupdate, now.io.rlastupdate);
    set(pairs.wcnt, now.io.wcnt);
    set(pairs.rcnt, now.io.rcnt);
    return 0;
}

}  // namespace blkscope
