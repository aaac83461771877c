// The cost of the statistics: a transition with its clock reading, and a snapshot that another
// process takes.
//
//     cmake --build --preset release --target kstat_bench
//     build/release/bin/kstat_bench
//
// Our limits, on an idle machine: 25 ns for a transition, 50 us for the median remote read.
#include <benchmark/benchmark.h>
#include <kstat.h>
#include <sys/ksynch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "../unit/temporary_folder.hpp"
#include "base/clock.hpp"
#include "kstat/registry/queues.hpp"
#include "kstat/registry/snapshot.hpp"

namespace {

namespace transitions = blkscope::kstat;

// A queue with a length, so that the products are really made; each thread has its own.
kstat_io_t busy() {
    kstat_io_t io{};
    for (int i = 0; i < 4; ++i) {
        kstat_waitq_enter(&io);
        kstat_runq_enter(&io);
    }
    return io;
}

// Two transitions a round, so that the lengths stay where they are; the time shown is of one.
template <void (*first)(kstat_io_t*), void (*second)(kstat_io_t*)>
void c_functions(benchmark::State& state) {
    blkscope::calibrate_clock();
    kstat_io_t io = busy();
    bool is_first = true;
    for (auto _ : state) {
        is_first ? first(&io) : second(&io);
        is_first = !is_first;
        benchmark::DoNotOptimize(io);
    }
}
BENCHMARK(c_functions<kstat_waitq_enter, kstat_waitq_exit>)->ThreadRange(1, 2);
BENCHMARK(c_functions<kstat_runq_enter, kstat_runq_exit>)->ThreadRange(1, 2);
BENCHMARK(c_functions<kstat_waitq_to_runq, kstat_runq_back_to_waitq>)->ThreadRange(1, 2);

// The forms that our own device uses: one writer, and a clock reading that need not be ordered.
template <void (*first)(kstat_io_t&, hrtime_t), void (*second)(kstat_io_t&, hrtime_t)>
void one_writer(benchmark::State& state) {
    blkscope::calibrate_clock();
    kstat_io_t io = busy();
    bool is_first = true;
    for (auto _ : state) {
        const hrtime_t now = blkscope::now_unscaled();
        is_first ? first(io, now) : second(io, now);
        is_first = !is_first;
        benchmark::DoNotOptimize(io);
    }
}
BENCHMARK(one_writer<transitions::waitq_enter, transitions::waitq_exit>)->ThreadRange(1, 2);
BENCHMARK(one_writer<transitions::runq_enter, transitions::runq_exit>)->ThreadRange(1, 2);
BENCHMARK(one_writer<transitions::waitq_to_runq, transitions::runq_back_to_waitq>)
    ->ThreadRange(1, 2);

void clock_ordered(benchmark::State& state) {
    blkscope::calibrate_clock();
    for (auto _ : state) benchmark::DoNotOptimize(gethrtime_unscaled());
}
BENCHMARK(clock_ordered);

void clock_unordered(benchmark::State& state) {
    blkscope::calibrate_clock();
    for (auto _ : state) benchmark::DoNotOptimize(blkscope::now_unscaled());
}
BENCHMARK(clock_unordered);

void lock_and_unlock(benchmark::State& state) {
    kmutex_t lock;
    mutex_init(&lock, nullptr, MUTEX_DRIVER, nullptr);
    for (auto _ : state) {
        mutex_enter(&lock);
        mutex_exit(&lock);
    }
    mutex_destroy(&lock);
}
BENCHMARK(lock_and_unlock);

void io_snapshot(benchmark::State& state) {
    const kstat_io_t io = busy();
    for (auto _ : state) {
        benchmark::DoNotOptimize(transitions::io_snapshot(io, blkscope::now_unscaled()));
    }
}
BENCHMARK(io_snapshot);

// A process with one IO kstat, in a run directory of its own, until destruction.
class Provider {
  public:
    Provider() {
        if (pipe(line_) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) publish();
        char ready;
        if (read(line_[0], &ready, 1) != 1) std::abort();
    }
    ~Provider() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        close(line_[0]);
        close(line_[1]);
    }
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;

  private:
    [[noreturn]] void publish() const {
        kstat_t* const ksp = kstat_create("bench", 0, nullptr, "disk", KSTAT_TYPE_IO, 1, 0);
        *KSTAT_IO_PTR(ksp) = busy();
        kstat_install(ksp);
        if (write(line_[1], "r", 1) != 1) _exit(1);
        for (;;) pause();
    }

    const blkscope::test::RunFolder directory_;
    int line_[2]{};
    pid_t pid_ = -1;
};

void remote_read(benchmark::State& state) {
    const Provider provider;
    kstat_ctl_t* const kc = kstat_open();
    kstat_t* const ksp = kc == nullptr ? nullptr : kstat_lookup(kc, "bench", 0, nullptr);
    if (ksp == nullptr) return state.SkipWithError("the provider is not there");
    std::vector<hrtime_t> spent;
    for (auto _ : state) {
        kstat_io_t io;
        const hrtime_t start = gethrtime();
        if (kstat_read(kc, ksp, &io) == -1) return state.SkipWithError("kstat_read failed");
        spent.push_back(gethrtime() - start);
    }
    const auto middle = spent.begin() + static_cast<ptrdiff_t>(spent.size() / 2);
    std::nth_element(spent.begin(), middle, spent.end());
    state.counters["median_us"] = static_cast<double>(*middle) / 1e3;
    kstat_close(kc);
}
BENCHMARK(remote_read)->MinTime(1);

}  // namespace

BENCHMARK_MAIN();
