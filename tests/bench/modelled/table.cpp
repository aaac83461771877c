// Prints what a modelled device shows in virtual time, and what it should show. A figure has a
// line, with tabs between the fields. The first field is the kind of the line.
//
// usage: truth_table REQUESTS     of a run at the highest load; the others have half as many
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bursts.hpp"
#include "recursion.hpp"
#include "theory.hpp"

namespace blkscope::queueing {
namespace {

constexpr uint64_t long_run = 1'000'000;  // shorter ones leave out what has a fixed length

hrtime_t largest_difference(const Compared& one) {
    const Integrals& a = one.seen;
    const Integrals& b = one.expected;
    return std::max({std::abs(a.wlentime - b.wlentime), std::abs(a.wtime - b.wtime),
                     std::abs(a.rlentime - b.rlentime), std::abs(a.rtime - b.rtime)});
}

void print_recursion(const std::string& model, const std::vector<Compared>& all) {
    hrtime_t largest = 0;
    for (const Compared& one : all) largest = std::max(largest, largest_difference(one));
    std::printf("recursion\t%s\t%zu\t%lld\n", model.c_str(), all.size(),
                static_cast<long long>(largest));
}

void print_theory(uint64_t requests) {
    uint64_t seed =
        100;  // each run has its own, so that the deviations of two say more than of one
    for (const Queue& queue : queues()) {
        for (const double load : loads) {
            for (const Row& row :
                 rows_of(queue, load, load > 0.9 ? requests : requests / 2, seed++)) {
                std::printf("theory\t%s\t%g\t%s\t%.12g\t%.12g\t%.12g\t%d\n", queue.name.c_str(),
                            load, row.figure.c_str(), row.theory, row.seen, row.error,
                            row.counted ? 1 : 0);
            }
            std::fflush(stdout);
        }
    }
}

void print_closed() {
    constexpr hrtime_t rounds = 1000;  // a second
    for (const uint32_t servers : {1U, 2U, 4U, 16U}) {
        for (const uint64_t clients : {uint64_t{1}, uint64_t{3}, uint64_t{16}, uint64_t{40}}) {
            const kstat_io_t io = run_closed(clients, servers, rounds);
            std::printf("closed\t%llu\t%u\t%.9g\t%.9g\t%u\n",
                        static_cast<unsigned long long>(clients), servers,
                        static_cast<double>(io.wlentime) / 1e9,
                        static_cast<double>(io.rlentime) / 1e9, io.reads);
        }
    }
}

void print_burst(const std::string& limits, const char* load, double expected_s,
                 const Burst& burst) {
    std::printf("burst\t%s\t%s\t%.9g\t%.9g\t%llu\t%llu\n", limits.c_str(), load, expected_s,
                static_cast<double>(burst.credits_end) / 1e9,
                static_cast<unsigned long long>(burst.exceeded_ns),
                static_cast<unsigned long long>(burst.wtime));
}

// Theory alone, for the lines of the plots.
void print_lines() {
    for (const Queue& queue : queues()) {
        constexpr int steps = 50;
        for (int i = 1; i < steps; ++i) {
            const double load = static_cast<double>(i) / steps;
            const Theory theory = queue.theory(load);
            std::printf("curve\t%s\t%g\t%g\t%g\n", queue.name.c_str(), load,
                        theory.mean_wait / queue.service, theory.waiting);
        }
        constexpr double load = 0.8;
        constexpr double step = 0.1;
        constexpr int times = 300;
        const Theory theory = queue.theory(load);
        for (int i = 0; theory.wait_later && i <= times; ++i) {
            std::printf("tail\t%s\t%g\t%g\t%g\n", queue.name.c_str(), load, i * step,
                        theory.wait_later(i * step));
        }
    }
}

void print_all(uint64_t requests) {
    for (const char* distribution : distributions) {
        print_recursion(distribution, compare_distribution(distribution));
    }
    print_recursion("hdd:7200:1ms:16ms:100M", compare_hdd());
    print_recursion("ssd:6:60us:200us:1M:3ms", compare_ssd());
    print_closed();
    const std::string last = "iops=300:3000:5400000:27000";
    print_burst(last, "32 clients", 10, burst_of_clients(last));
    if (requests >= long_run) {
        print_burst("gp2:100G", "32 clients", 2000, burst_of_clients("gp2:100G"));
        print_burst("gp2:100G", "2,000 arrivals/s", 5'400'000.0 / (2000 - 300),
                    burst_of_arrivals("gp2:100G", 500'000));
    }
    print_lines();
    print_theory(requests);
}

}  // namespace
}  // namespace blkscope::queueing

int main(int argc, char** argv) {
    const uint64_t requests = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
    constexpr uint64_t requests_min = 1000;
    if (requests < requests_min) {
        std::fprintf(stderr, "usage: truth_table REQUESTS     1000 or more\n");
        return 2;
    }
    blkscope::queueing::print_all(requests);
    return 0;
}
