#include "blockdev/accounting/io_stats.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace blkscope {
namespace {

// A blob without samples, for readers of devices that have no blob yet. nullptr: there is no memory
// for one, or no template.
statsblob* empty_blob() {
    static statsblob* const blob = [] {  // never destroyed: readers may still use it
        const int tpl = IoStatsTemplate::make();
        return tpl < 0 ? nullptr : stats_blob_alloc(static_cast<uint32_t>(tpl), 0);
    }();
    return blob;
}

}  // namespace

IoStats::IoStats(int instance, const std::string& name, uint32_t every)
    : every_(every), left_(every) {
    const statsblob* const empty = every == 0 ? nullptr : empty_blob();
    if (empty == nullptr) return;
    // Virtual: the blob is this object's. snapshot() copies it while busy_ keeps the worker away.
    kstat_.reset(kstat_create("stats", instance, name.c_str(), "misc", KSTAT_TYPE_RAW, empty->cursz,
                              KSTAT_FLAG_VIRTUAL));
    if (!kstat_) return;
    kstat_->ks_private = this;
    kstat_->ks_snapshot = snapshot;
    kstat_install(kstat_.get());
}

void IoStats::prepare() {
    if (blob_ != nullptr || !published()) return;
    std::unique_ptr<statsblob, Destroy> made(
        stats_blob_alloc(static_cast<uint32_t>(IoStatsTemplate::make()), 0));
    if (made == nullptr) return;
    assert(made->cursz == empty_blob()->cursz);  // the size of the kstat
    while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    blob_ = std::move(made);
    busy_.clear(std::memory_order_release);
}

void IoStats::take(const Request& request) {
    assert(every_ > 0);
    left_ = every_;
    prepare();
    if (blob_ == nullptr) return;
    if (busy_.test_and_set(std::memory_order_acquire)) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    feed(request);
    busy_.clear(std::memory_order_release);
}

void IoStats::feed(const Request& request) {
    assert(blob_ != nullptr);
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
    const statsblob* const blob = stats.blob_ != nullptr ? stats.blob_.get() : empty_blob();
    assert(blob->cursz == ksp->ks_data_size);
    std::memcpy(out, blob, blob->cursz);
    stats.busy_.clear(std::memory_order_release);
    ksp->ks_snaptime = gethrtime();
    return 0;
}

}  // namespace blkscope
