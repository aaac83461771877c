// The cost of counting a value: by the shape of the histogram, with the values of a real latency.
//
//     cmake --build --preset release --target kstat2_bench
//     build/release/bin/kstat2_bench
//
// Our limit, on an idle machine: 10 ns for kstat2_hist_add_value. Most of that is the atomic
// addition. A device with one writer stores without it, and pays for the index only.
#include <benchmark/benchmark.h>
#include <sys/kstat2.h>

#include <array>
#include <atomic>
#include <random>

#include "kstat/registry/maps.hpp"

namespace {

using blkscope::kstat2::Buckets;

constexpr Buckets linear(KSTAT2_NVHIST_LINEAR, 0, 1'048'576, 4096);
constexpr Buckets unbounded(KSTAT2_NVHIST_LINEAR, 0, 0, 4096);
constexpr Buckets log2(KSTAT2_NVHIST_LOG2, 0, 0, 0);
constexpr Buckets log10(KSTAT2_NVHIST_LOG10, 0, 0, 0);
constexpr Buckets decades(KSTAT2_NVHIST_LOG10_LIN, 3, 9, 20);

// Nanoseconds, from a few microseconds to some milliseconds.
std::array<uint64_t, 1024> latencies() {
    std::mt19937_64 random(20260721);
    std::lognormal_distribution<double> distribution(11, 1.5);
    std::array<uint64_t, 1024> values{};
    for (uint64_t& value : values) value = static_cast<uint64_t>(distribution(random));
    return values;
}

void index(benchmark::State& state, const Buckets& shape) {
    const auto values = latencies();
    size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(shape.index(values[i++ % values.size()]));
}
BENCHMARK_CAPTURE(index, linear, linear);
BENCHMARK_CAPTURE(index, log2, log2);
BENCHMARK_CAPTURE(index, log10, log10);
BENCHMARK_CAPTURE(index, log10_linear, decades);

// One plain addition, as the device's only writer does it.
void store(benchmark::State& state, const Buckets& shape) {
    const auto values = latencies();
    std::vector<uint64_t> buckets(shape.count());
    size_t i = 0;
    for (auto _ : state) {
        std::atomic_ref bucket(buckets[shape.index(values[i++ % values.size()])]);
        bucket.store(bucket.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    benchmark::DoNotOptimize(buckets.data());
}
BENCHMARK_CAPTURE(store, log2, log2);
BENCHMARK_CAPTURE(store, log10_linear, decades);

// All threads count into one histogram, as those of a provider would.
void hist_add_value(benchmark::State& state, const Buckets& shape) {
    static kstat2_t* ksp = nullptr;
    if (state.thread_index() == 0) {
        const char* segments[] = {"misc", "bench", "histogram"};
        ksp = kstat2_create_histogram(segments, 3, ALL_ZONES, shape.type(), KSTAT2_NVMT_CNT, 1,
                                      KSTAT2_NVMF_NONE, nullptr, 0, shape.range_min(),
                                      shape.range_max(), shape.stepping(), 0, "a benchmark's",
                                      KSTAT2_MF_NONE);
    }
    const auto values = latencies();
    size_t i = 0;
    for (auto _ : state) kstat2_hist_add_value(ksp, values[i++ % values.size()]);
    if (state.thread_index() == 0) kstat2_delete(ksp);
}
BENCHMARK_CAPTURE(hist_add_value, linear, linear)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(hist_add_value, unbounded, unbounded)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(hist_add_value, log2, log2)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(hist_add_value, log10, log10)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(hist_add_value, log10_linear, decades)->ThreadRange(1, 2);

// The cost of a whole histogram of 128 buckets for a reader of the same process.
void snapshot(benchmark::State& state) {
    const char* segments[] = {"misc", "bench", "snapshot"};
    kstat2_t* const ksp = kstat2_create_histogram(
        segments, 3, ALL_ZONES, decades.type(), KSTAT2_NVMT_CNT, 1, KSTAT2_NVMF_NONE, nullptr, 0,
        decades.range_min(), decades.range_max(), decades.stepping(), 0, "a benchmark's",
        KSTAT2_MF_NONE);
    auto& maps = blkscope::kstat2::Maps::of_this_process();
    std::string why;
    if (!maps.install(ksp, why)) return state.SkipWithError(why.c_str());
    for (auto _ : state) benchmark::DoNotOptimize(maps.read({}, ksp->ks2_kid));
    kstat2_delete(ksp);
}
BENCHMARK(snapshot);

}  // namespace

BENCHMARK_MAIN();
