#include "blockdev/accounting/io_stats.hpp"

#include <cerrno>
#include <cstring>
#include <thread>

namespace blkscope {

IoStats::IoStats(int instance, const std::string& name, uint32_t every)
    : every_(every), left_(every) {
    const int tpl = IoStatsTemplate::make();
    if (every == 0 || tpl < 0) return;
    blob_.reset(stats_blob_alloc(static_cast<uint32_t>(tpl), 0));
    if (blob_ == nullptr) return;
    // Virtual: the blob is ours, and snapshot() copies it while the worker is not at it.
    kstat_.reset(kstat_create("stats", instance, name.c_str(), "misc", KSTAT_TYPE_RAW, blob_->cursz,
                              KSTAT_FLAG_VIRTUAL));
    if (!kstat_) return;
    kstat_->ks_data = blob_.get();
    kstat_->ks_private = this;
    kstat_->ks_snapshot = snapshot;
    kstat_install(kstat_.get());
}

void IoStats::take(const Request& request) {
    left_ = every_;
    if (blob_ == nullptr) return;
    if (busy_.test_and_set(std::memory_order_acquire)) {
        let_go_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    feed(request);
    busy_.clear(std::memory_order_release);
}

void IoStats::feed(const Request& request) {
    stats_voi_update_abs_u64(blob_.get(), request.write ? write_service : read_service,
                             request.service_ns);
    stats_voi_update_abs_u64(blob_.get(), request.write ? write_wait : read_wait, request.wait_ns);
    stats_voi_update_abs_u64(blob_.get(), size, request.size_bytes);
    stats_voi_update_abs_u64(blob_.get(), depth, request.depth);
}

int IoStats::snapshot(kstat_t* ksp, void* out, int rw) {
    if (rw == KSTAT_WRITE) return EACCES;
    auto& stats = *static_cast<IoStats*>(ksp->ks_private);
    while (stats.busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    std::memcpy(out, stats.blob_.get(), stats.blob_->cursz);
    stats.busy_.clear(std::memory_order_release);
    ksp->ks_snaptime = gethrtime();
    return 0;
}

}  // namespace blkscope
