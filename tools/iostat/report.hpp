// A sequence of reports: chooses the looks to compare, and decides when to print headers.
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "tools/iostat/figures.hpp"
#include "tools/iostat/interval.hpp"

namespace blkscope::iostat {

class Reporter {
  public:
    explicit Reporter(const Options& options) : options_(options) {}

    /// The report on `devices`, which select() returned, and on the processors: lines about
    /// changes, headers, figures. With -j it is one line, which contains `now`.
    ///
    /// The report covers the time since the last look. The first report covers the time since each
    /// device's creation. A report after devices or processors were added or removed does so too.
    /// With -y there is no report on the first look. After a change with -y, each device that
    /// stayed is compared with its last look.
    [[nodiscard]] std::string report(const Snapshot& devices, const Processors& processors = {},
                                     std::time_t now = 0);

    /// The header again, after the process was stopped and continued. Empty if every report has its
    /// own header. Empty with -r too, because that header is printed once.
    [[nodiscard]] std::string header_again();

  private:
    struct Look {
        Snapshot devices;
        Processors processors;
    };

    [[nodiscard]] std::string text(const Interval& interval);
    [[nodiscard]] std::string vertical(const Interval& interval);
    [[nodiscard]] std::string vertical_lines(const Interval& interval);
    [[nodiscard]] std::string lines_of(const Interval& interval, const Options& layout) const;
    [[nodiscard]] std::string tables(const Interval& interval) const;
    [[nodiscard]] std::string horizontal(const Interval& interval);
    [[nodiscard]] std::string listings(const Snapshot& devices) const;
    [[nodiscard]] bool has_header(const Snapshot& devices) const;

    Options options_;
    std::optional<Look> last_;
    size_t name_width_ = 0;            // never shrinks, so that the reports' columns are aligned
    unsigned lines_until_header_ = 0;  // in a horizontal report
};

}  // namespace blkscope::iostat
