#include "stats/device_template/io_stats_template.hpp"

#include <blkscope/stats.h>

#include <cassert>

namespace blkscope {
namespace {

constexpr uint32_t centroids = 100;
constexpr uint32_t fraction_bits = 16;  // of means up to 2^44 ns, which is five hours

// Up to 10 s and 64 MiB. More goes into the last bucket.
constexpr uint64_t time_max_ns = 10'000'000'000;
constexpr uint64_t size_max_bytes = uint64_t{64} << 20;

struct Variable {
    const char* name;
    uint64_t least;
    uint64_t most;
    uint64_t steps;  // the width of a bucket is the next power of two divided by this
};

// In the order of IoStatsTemplate::Voi. One more bucket lies below `least`: 1 µs, or a sector.
constexpr Variable variables[IoStatsTemplate::voi_count] = {
    {"read_service_ns", 1024, time_max_ns, 8},  {"read_wait_ns", 1024, time_max_ns, 8},
    {"write_service_ns", 1024, time_max_ns, 8}, {"write_wait_ns", 1024, time_max_ns, 8},
    {"size_bytes", 512, size_max_bytes, 2},     {"depth", 1, 1024, 4}};

int add_variable(int tpl, int32_t id) {
    assert(id >= 0);
    assert(id < IoStatsTemplate::voi_count);
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
    const int tpl = stats_tpl_alloc(IoStatsTemplate::name, 0);
    for (int32_t id = 0; tpl >= 0 && id < IoStatsTemplate::voi_count; ++id) {
        const int error = add_variable(tpl, id);
        if (error != 0) return -error;
    }
    return tpl;
}

}  // namespace

int IoStatsTemplate::make() {
    static const int tpl = made_template();
    return tpl;
}

}  // namespace blkscope
