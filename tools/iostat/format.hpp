// How figures become lines. Every layout comes from one table of columns; what differs is which
// columns it takes, whether they are padded or separated by commas, and where the name stands.
//
// Numbers never depend on the locale.
#ifndef IOSTAT_FORMAT_HPP
#define IOSTAT_FORMAT_HPP

#include <ctime>
#include <string>
#include <vector>

#include "iostat/figures.hpp"

namespace blkscope::iostat {

constexpr size_t name_width_min = 6;
constexpr size_t name_width_max = 24;

/// The two header lines of a vertical report, for names `name_width` wide.
[[nodiscard]] std::string vertical_header(size_t name_width, const Options& options);

/// One device's line of a vertical report.
[[nodiscard]] std::string vertical_line(const std::string& name, const Figures& figures,
                                        size_t name_width, const Options& options);

/// The two header lines of a horizontal report.
[[nodiscard]] std::string horizontal_header(const Snapshot& devices, const Options& options);

/// The line of a horizontal report; `figures` in the order of the devices.
[[nodiscard]] std::string horizontal_line(const std::vector<Figures>& figures,
                                          const Options& options);

/// Whether every column of -x would be from 0 to less than 0.1.
[[nodiscard]] bool is_idle(const Figures& figures);

/// The line of -T: the seconds, or what date(1) prints; empty without -T.
///
/// Threads: reads the process's time zone and LC_TIME.
[[nodiscard]] std::string stamp_line(std::time_t now, Stamp stamp);

}  // namespace blkscope::iostat

#endif
