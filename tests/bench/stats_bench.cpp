// The cost of feeding a value to a blob.
#include <benchmark/benchmark.h>
#include <blkscope/stats.h>
#include <sys/sbuf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <vector>

namespace blkscope {

namespace {

struct Destroyed {
    void operator()(statsblob* blob) const { stats_blob_destroy(blob); }
};
using BlobPtr = std::unique_ptr<statsblob, Destroyed>;

BlobPtr blob_with(std::vector<voistatspec> specs) {
    static int number = 0;
    const int tpl = stats_tpl_alloc(("bench " + std::to_string(++number)).c_str(), 0);
    if (stats_tpl_add_voistats(static_cast<uint32_t>(tpl), 0, "latency", VSD_DTYPE_INT_U64,
                               static_cast<uint32_t>(specs.size()), specs.data(), 0) != 0)
        std::abort();
    return BlobPtr(stats_blob_alloc(static_cast<uint32_t>(tpl), 0));
}

// Service times as a disk has them, nanoseconds; more of them than a branch predictor can store.
const std::vector<uint64_t>& latencies() {
    static const std::vector<uint64_t> all = [] {
        std::mt19937_64 random(20261121);
        std::lognormal_distribution<double> latency(11.5, 0.8);
        std::vector<uint64_t> values(1 << 16);
        for (uint64_t& value : values) value = static_cast<uint64_t>(latency(random));
        return values;
    }();
    return all;
}

void feed(benchmark::State& state, const BlobPtr& blob) {
    const std::vector<uint64_t>& values = latencies();
    size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(stats_voi_update_abs_u64(blob.get(), 0, values[i]));
        i = (i + 1) % values.size();
    }
    state.SetItemsProcessed(state.iterations());
}

void sum_of(benchmark::State& state) {
    feed(state, blob_with({STATS_VSS_SUM()}));
}
BENCHMARK(sum_of);

void no_blob(benchmark::State& state) {
    feed(state, nullptr);
}
BENCHMARK(no_blob);

void sum_extremes_and_linear_buckets(benchmark::State& state) {
    auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST64, 0, 1'000'000,
                                  1'000'000 / static_cast<uint64_t>(state.range(0)));
    feed(state,
         blob_with({STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(), stats_vss_hist(buckets)}));
}
BENCHMARK(sum_extremes_and_linear_buckets)->Arg(16)->Arg(64)->Arg(1000);

void sum_extremes_and_linexp_buckets(benchmark::State& state) {
    auto buckets = stats_hist_linexp(VSD_DTYPE_CRHIST64, 0, 10'000'000'000,
                                     static_cast<uint64_t>(state.range(0)), 2);
    feed(state,
         blob_with({STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(), stats_vss_hist(buckets)}));
}
BENCHMARK(sum_extremes_and_linexp_buckets)->Arg(1)->Arg(4)->Arg(16);

void digest_of(benchmark::State& state) {
    auto digest = stats_tdgst(static_cast<vsd_dtype>(state.range(0)),
                              static_cast<uint32_t>(state.range(1)), 4);
    feed(state, blob_with({stats_vss_tdgst(digest)}));
}
BENCHMARK(digest_of)
    ->Args({VSD_DTYPE_TDGSTCLUST64, 20})
    ->Args({VSD_DTYPE_TDGSTCLUST64, 100})
    ->Args({VSD_DTYPE_TDGSTCLUST64, 1000})
    ->Args({VSD_DTYPE_TDGSTCLUST32, 100});

BlobPtr fed_blob() {
    auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, 100, 16);
    auto buckets = stats_hist_linexp(VSD_DTYPE_CRHIST64, 0, 10'000'000'000, 4, 2);
    BlobPtr blob = blob_with({STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
                              stats_vss_hist(buckets), stats_vss_tdgst(digest)});
    for (const uint64_t value : latencies()) stats_voi_update_abs_u64(blob.get(), 0, value);
    return blob;
}

void quantile(benchmark::State& state) {
    const BlobPtr blob = fed_blob();
    double value = 0;
    for (auto _ : state) {
        stats_voi_quantile(blob.get(), 0, 0.99, &value);
        benchmark::DoNotOptimize(value);
    }
}
BENCHMARK(quantile);

void snapshot(benchmark::State& state) {
    const BlobPtr blob = fed_blob();
    std::vector<uint64_t> memory(8192);
    auto* copy = reinterpret_cast<statsblob*>(memory.data());
    for (auto _ : state)
        benchmark::DoNotOptimize(stats_blob_snapshot(&copy, memory.size() * 8, blob.get(), 0));
}
BENCHMARK(snapshot);

void json(benchmark::State& state) {
    const BlobPtr blob = fed_blob();
    sbuf* const text = sbuf_new_auto();
    for (auto _ : state) {
        sbuf_clear(text);
        benchmark::DoNotOptimize(stats_blob_tostr(blob.get(), text, SB_STRFMT_JSON, 0));
    }
    sbuf_delete(text);
}
BENCHMARK(json);

}  // namespace

}  // namespace blkscope

BENCHMARK_MAIN();
