// Queues of which theory has the figures, and runs in virtual time to compare with it.
//
//     queues() ─▶ Queue ── theory(load) ──▶ Theory ─┐
//                   └──── a run in virtual time ────┴─▶ rows_of() ─▶ Row: theory, seen, error
//
// Arrivals are those of Poisson. A run is cut into batches. The standard error of a figure comes
// from the means of the batches. The figures have the names of iostat.
//
// Units:     milliseconds, requests and shares.
// Ownership: values.
// Threads:   any.
// Errors:    none.
// Sources:   Kleinrock: Queueing systems, 1975; Pollaczek and Khinchine for M/G/1; Erlang's C;
//            Franx: A simple solution for the M/D/c waiting time distribution, 2001.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blkscope::queueing {

inline constexpr double loads[] = {0.2, 0.5, 0.8, 0.95};

/// The chance of a time that is longer than `t`.
using Tail = std::function<double(double t)>;

struct Theory {
    double mean_wait = 0;
    double busy = 0;       // the share of time in which a request runs
    double waiting = 0;    // the share of time in which a request waits
    double some_wait = 0;  // the chance of a request to wait
    Tail wait_later = {};  // empty without a closed form; so is the next
    Tail response_later = {};
    std::vector<double> waits = {};  // the share of requests that wait longer than each is a row
};

struct Queue {
    std::string name;
    std::string model;
    uint32_t servers = 1;
    double service = 1;  // the mean
    std::function<Theory(double load)> theory;
};

/// M/M/1, M/M/2, M/M/4, M/M/16, M/D/1 and M/G/1.
std::vector<Queue> queues();
Queue many_servers(uint32_t servers);
Queue constant_times();
Queue lognormal_times();

struct Row {
    std::string figure;
    double theory = 0;
    double seen = 0;
    double error = 0;      // standard error of `seen`
    bool counted = false;  // a number of requests. `error` is the spread by theory
};

/// The figures of one run. The seed is of both arrivals and service times.
std::vector<Row> rows_of(const Queue& queue, double load, uint64_t requests, uint64_t seed);

/// The counters after `rounds` milliseconds with `clients` requests that come back at once. Each
/// takes 1 ms, with as much depth as servers.
kstat_io_t run_closed(uint64_t clients, uint32_t servers, hrtime_t rounds);

}  // namespace blkscope::queueing
