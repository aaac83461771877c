// A condition on devices, as `blkscope check` takes it.
//
//     p99(nbd*.read.service) < 5ms
//      │   │    │      │     │  └── bound, in a unit of the figure
//      │   │    │      │     └───── comparison: < <= > >= == !=
//      │   │    │      └─────────── phase of a time: wait, service, total
//      │   │    └────────────────── operation
//      │   └─────────────────────── devices: a shell pattern
//      └─────────────────────────── figure
//
//     figure                          operation   phase   bound
//     mean p50 p90 p95 p99 p99.9      may have    may     5ms: ns, us, ms or s
//     p99.99 max
//     late                            -           -       5ms
//     count errors                    may have    -       5
//     rate (iops)                     may have    -       5 or 5/s
//     bps                             read, write -       5, 5K, 5M/s, 5GiB/s: powers of 1024
//     wait actv                       -           -       0.5
//     busy                            -           -       90%
//
// Without an operation, the figure is of reads and writes together. Without a phase, a time is the
// total. `late` is the p99 of how late the server itself ended the requests of a device with a model.
//
// Threads: any.
// Errors:  parse_condition() throws std::invalid_argument with one line about the first mistake.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace blkscope::check {

enum class Figure {
    mean,
    p50,
    p90,
    p95,
    p99,
    p999,
    p9999,
    max,
    late,
    count,
    rate,
    bps,
    errors,
    wait,
    actv,
    busy
};

enum class Comparison { less, at_most, more, at_least, equal, different };

struct Condition {
    std::string text;  // as the user wrote it
    Figure figure{};
    std::string devices;    // a shell pattern
    std::string operation;  // read, write, ...; empty for reads and writes together
    std::string phase;      // of a time: wait, service or total; empty for the other figures
    Comparison comparison{};
    double bound = 0;  // a time in nanoseconds; of `busy` in percent; of `bps` in bytes
};

[[nodiscard]] Condition parse_condition(std::string_view text);

/// Whether the figure is a time of requests, which has a phase.
[[nodiscard]] bool is_time(Figure figure);

/// A sentence about a word behind the device that is no operation and no phase, as in "nbd0.reads".
/// None if `matches` accepts the whole pattern as that of a device, or none of its beginnings.
[[nodiscard]] std::optional<std::string> word_mistake(
    const Condition& condition, const std::function<bool(const std::string& pattern)>& matches);

}  // namespace blkscope::check
