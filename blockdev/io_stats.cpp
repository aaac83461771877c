#include "blockdev/io_stats.hpp"

#include <cerrno>
#include <cstring>
#include <thread>

namespace blkscope {

namespace {

constexpr const char* template_name = "blkscope.io";
constexpr uint32_t centroids = 100;
constexpr uint32_t fraction_bits = 4;  // means up to 2^56 ns, in sixteenths

// Of times and sizes: eight buckets each power of two, up to 10 s and 64 MiB.
constexpr uint64_t time_max_ns = 10'000'000'000;
constexpr uint64_t size_max_bytes = uint64_t{64} << 20;

struct Variable {
    const char* name;
    uint64_t least;
    uint64_t most;
    uint64_t steps;  // buckets each power of two
};

// In the order of IoStats::Voi. A bucket begins at 1 µs and at a sector: below is one more.
constexpr Variable variables[IoStats::voi_count] = {
    {"read_service_ns", 1024, time_max_ns, 8},  {"read_wait_ns", 1024, time_max_ns, 8},
    {"write_service_ns", 1024, time_max_ns, 8}, {"write_wait_ns", 1024, time_max_ns, 8},
    {"size_bytes", 512, size_max_bytes, 2},     {"depth", 1, 1024, 4}};

int add_variable(int tpl, int32_t id) {
    const Variable& variable = variables[id];
    auto buckets = stats_hist_linexp(VSD_DTYPE_CRHIST64, variable.least, variable.most,
                                     variable.steps, 2, VSD_HIST_LBOUND_INF);
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, centroids, fraction_bits);
    voistatspec specs[] = {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
                           stats_vss_hist(buckets), stats_vss_tdgst(digest)};
    return stats_tpl_add_voistats(static_cast<uint32_t>(tpl), id, variable.name, VSD_DTYPE_INT_U64,
                                  NVSS(specs), specs, 0);
}

int made_template() {
    const int tpl = stats_tpl_alloc(template_name, 0);
    for (int32_t id = 0; tpl >= 0 && id < IoStats::voi_count; ++id) {
        const int error = add_variable(tpl, id);
        if (error != 0) return -error;
    }
    return tpl;
}

}  // namespace

int IoStats::make_template() {
    static const int tpl = made_template();
    return tpl;
}

IoStats::IoStats(int instance, const std::string& name, uint32_t every)
    : every_(every), left_(every) {
    const int tpl = make_template();
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
