// The processors: the use of their time, and the characters of terminals, which their kstats count.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/iostat/options.hpp"

namespace blkscope::iostat {

/// One processor that is on line. Ticks are those of sysconf(_SC_CLK_TCK).
struct Processor {
    int id = 0;
    hrtime_t snaptime = 0;  // ns of CLOCK_MONOTONIC
    uint64_t idle_ticks = 0;
    uint64_t user_ticks = 0;
    uint64_t kernel_ticks = 0;
    uint64_t wait_ticks = 0;
    uint64_t dtrace_ns = 0;
    uint64_t characters_in = 0;   // from terminals
    uint64_t characters_out = 0;  // to terminals
};

/// The processors in the order of their numbers. Empty if no provider publishes them.
using Processors = std::vector<Processor>;

/// The sums of the counters of all processors.
[[nodiscard]] Processor sum_of(const Processors& processors);

/// All processors over one interval: percentages of their time, and characters per second, or per
/// interval with -I.
struct ProcessorFigures {
    double user;
    double system;
    double dtrace;
    double idle;
    double characters_in;
    double characters_out;
};

/// The figures from `before` to `now`. If `before` is null, since the system's start.
///
/// All figures are 0 without processors. The percentages are 0 if no tick has passed. The wait for
/// I/O is in the total, but in no figure.
[[nodiscard]] ProcessorFigures processor_figures(const Processors* before, const Processors& now,
                                                 const Options& options);

/// Whether the same processors are on line.
[[nodiscard]] bool same_processors(const Processors& before, const Processors& now);

/// A line for the removed processors and one for the added: `<<processors added: 1, 3>>`.
[[nodiscard]] std::vector<std::string> processor_changes(const Processors& before,
                                                         const Processors& now);

}  // namespace blkscope::iostat
