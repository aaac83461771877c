// The cost of the histograms: all that is counted of a request when it is done. Also the cost of
// the statistics blob for a request that it takes, one in `serve --stats-rate`.
//
//     cmake --build --preset release --target histograms_bench
//     build/release/bin/histograms_bench
//
// The times differ from request to request, as they do on a device. A branch predictor would find a
// bucket that is always the same. That bucket would always be in the cache, too.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <random>

#include "base/clock.hpp"
#include "base/seqlock.hpp"
#include "blockdev/accounting/io_stats.hpp"
#include "blockdev/accounting/request_histograms.hpp"
#include "blockdev/queue/buf.hpp"

namespace {

using blkscope::Buf;
using blkscope::RequestHistograms;

// Bufs whose stamps say that they waited and were served some microseconds to milliseconds.
std::array<Buf, 1024> finished_bufs(Buf::Op op) {
    std::mt19937 random(20261121);
    std::lognormal_distribution<double> ns(10, 1.5);
    std::array<Buf, 1024> bufs;
    for (Buf& buf : bufs) {
        buf.op = op;
        buf.bcount = op == Buf::Op::flush ? 0 : 4096;
        buf.depth_on_arrival = static_cast<uint32_t>(random() % 32);
        buf.queued = blkscope::now_unscaled();
        buf.started = buf.queued + blkscope::to_ticks(static_cast<hrtime_t>(ns(random)));
        buf.finished = buf.started + blkscope::to_ticks(static_cast<hrtime_t>(ns(random)));
    }
    return bufs;
}

void count(benchmark::State& state, Buf::Op op, bool on) {
    blkscope::calibrate_clock();
    const blkscope::Seqlock seq;
    const auto histograms = std::make_unique<RequestHistograms>(seq);
    if (on) histograms->switch_on();
    const auto bufs = finished_bufs(op);
    size_t next = 0;
    for (auto _ : state) {
        histograms->count(bufs[next++ % bufs.size()]);
        benchmark::ClobberMemory();
    }
}
BENCHMARK_CAPTURE(count, read, Buf::Op::read, true);
BENCHMARK_CAPTURE(count, flush, Buf::Op::flush, true);
BENCHMARK_CAPTURE(count, switched_off, Buf::Op::read, false);

void take_into_blob(benchmark::State& state, uint32_t rate) {
    blkscope::IoStats stats(0, "nbd0", rate);
    std::mt19937 random(20261121);
    std::lognormal_distribution<double> ns(10, 1.5);
    std::array<blkscope::IoStats::Request, 1024> requests{};
    for (auto& request : requests) {
        request = {.write = random() % 4 == 0,
                   .wait_ns = static_cast<uint64_t>(ns(random)),
                   .service_ns = static_cast<uint64_t>(ns(random)),
                   .size_bytes = uint64_t{512} << random() % 8,
                   .depth = random() % 32};
    }
    size_t next = 0;
    for (auto _ : state) {
        if (stats.due()) stats.take(requests[next++ % requests.size()]);
        benchmark::ClobberMemory();
    }
}
BENCHMARK_CAPTURE(take_into_blob, each, 1);
BENCHMARK_CAPTURE(take_into_blob, one_in_64, 64);

}  // namespace

BENCHMARK_MAIN();
