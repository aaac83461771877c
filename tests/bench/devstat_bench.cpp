// The cost of a transaction: a start and an end, with their clock readings or with the caller's
// stamps. Also the cost of a transaction in our own device, which counts in ticks.
//
//     cmake --build --preset release --target devstat_bench
//     build/release/bin/devstat_bench
//
// Our limit, on an idle machine: 20 ns for the pair of our own device.
#include <benchmark/benchmark.h>
#include <sys/devicestat.h>

#include "../unit/temporary_folder.hpp"
#include "base/clock.hpp"
#include "base/seqlock.hpp"
#include "blockdev/accounting/devstat_counters.hpp"

namespace {

struct devstat* new_entry() {
    return devstat_new_entry("bench", 0, 512, DEVSTAT_ALL_SUPPORTED, DEVSTAT_TYPE_DIRECT,
                             DEVSTAT_PRIORITY_DISK);
}

void pair_that_reads_the_clock(benchmark::State& state) {
    const blkscope::test::RunFolder directory;
    struct devstat* const ds = new_entry();
    for (auto _ : state) {
        devstat_start_transaction(ds, nullptr);
        devstat_end_transaction(ds, 4096, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, nullptr, nullptr);
    }
    devstat_remove_entry(ds);
}
BENCHMARK(pair_that_reads_the_clock);

void pair_with_stamps(benchmark::State& state) {
    const blkscope::test::RunFolder directory;
    struct devstat* const ds = new_entry();
    bintime then{1, 0};
    bintime now{1, 1};
    for (auto _ : state) {
        devstat_start_transaction(ds, &then);
        devstat_end_transaction(ds, 4096, DEVSTAT_TAG_SIMPLE, DEVSTAT_READ, &now, &then);
        ++then.sec;
        ++now.sec;
    }
    devstat_remove_entry(ds);
}
BENCHMARK(pair_with_stamps);

// As Device has it: inside the sequence lock and with the stamps that are there anyway.
void pair_of_our_device(benchmark::State& state) {
    const blkscope::test::RunFolder directory;
    const blkscope::Seqlock seq;
    blkscope::DevstatCounters counters(seq, 0, "nbd0", false, 512);
    blkscope::Buf buf;
    buf.bcount = 4096;
    for (auto _ : state) {
        ++buf.queued;
        counters.begin(buf.queued);
        buf.finished = buf.queued + 1;
        counters.end(buf);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(pair_of_our_device);

}  // namespace

BENCHMARK_MAIN();
