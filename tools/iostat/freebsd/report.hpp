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

/// A device that is shown, over one interval.
struct Shown {
    std::string name;
    Devstat now{};
    std::optional<Devstat> before;  // none: since its creation
    double elapsed_s = 0;
};

/// Characters per second of terminals, and percentages of the processors' time.
struct Machine {
    double characters_in = 0;
    double characters_out = 0;
    std::array<double, CPUSTATES> cpu{};
};

/// The two lines above the others; not with -x, which has its own in each report.
[[nodiscard]] std::string header(const Options& options, const std::vector<Shown>& devices);

/// One report.
[[nodiscard]] std::string report(const Options& options, const std::vector<Shown>& devices,
                                 const Machine& machine);

/// The percentages of what has passed between two readings of cp_time.
[[nodiscard]] std::array<double, CPUSTATES> cpu_percentages(
    const std::array<long, CPUSTATES>& before, const std::array<long, CPUSTATES>& now);

[[nodiscard]] std::string help_text();

}  // namespace blkscope::iostat::freebsd
