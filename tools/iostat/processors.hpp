// The processors: where their time went, and what terminals moved meanwhile, which is counted
// there.
#pragma once

#include <sys/kstat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/iostat/options.hpp"

namespace blkscope::iostat {

/// One processor that is on line, as it was read. Ticks are those of sysconf(_SC_CLK_TCK).
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

/// In the order of their numbers. Empty: nothing is published about them.
using Processors = std::vector<Processor>;

/// All of them as one: what they counted, together.
[[nodiscard]] Processor sum_of(const Processors& processors);

/// All processors over one interval: percentages of their time, and characters per second, with -I
/// per interval.
struct ProcessorFigures {
    double user;
    double system;
    double dtrace;
    double idle;
    double characters_in;
    double characters_out;
};

/// The figures from `before` to `now`; since the system's start if `before` is null.
///
/// All are 0 if there are no processors, and the percentages if no tick has passed. The wait for
/// I/O is in the total, and in no figure.
[[nodiscard]] ProcessorFigures processor_figures(const Processors* before, const Processors& now,
                                                 const Options& options);

/// Whether the same ones are on line.
[[nodiscard]] bool same_processors(const Processors& before, const Processors& now);

/// A line each for those that went and those that came: `<<processors added: 1, 3>>`.
[[nodiscard]] std::vector<std::string> processor_changes(const Processors& before,
                                                         const Processors& now);

}  // namespace blkscope::iostat
