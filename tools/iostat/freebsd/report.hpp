// The columns of FreeBSD's iostat.
//
//            tty            nbd0             nbd1             cpu
//      tin  tout  KB/t tps  MB/s   KB/t tps  MB/s  us ni sy in id
#pragma once

#include <devstat.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/freebsd/figures.hpp"
#include "tools/iostat/freebsd/options.hpp"

namespace blkscope::iostat::freebsd {

using blkscope::freebsd::Devstat;

/// A shown device, over one interval.
struct Shown {
    std::string name;
    Devstat now{};
    std::optional<Devstat> before;  // none: the interval began with its creation
    double elapsed_s = 0;
};

/// Characters per second of terminals, and percentages of the processors' time.
struct Machine {
    double characters_in = 0;
    double characters_out = 0;
    std::array<double, CPUSTATES> cpu{};
};

/// The two header lines. Empty with -x, because each report then has its own header.
[[nodiscard]] std::string header(const Options& options, const std::vector<Shown>& devices);

/// The text of one report.
[[nodiscard]] std::string report(const Options& options, const std::vector<Shown>& devices,
                                 const Machine& machine);

/// The percentages of the time between two readings of cp_time.
[[nodiscard]] std::array<double, CPUSTATES> cpu_percentages(
    const std::array<long, CPUSTATES>& before, const std::array<long, CPUSTATES>& now);

[[nodiscard]] std::string help_text();

}  // namespace blkscope::iostat::freebsd
