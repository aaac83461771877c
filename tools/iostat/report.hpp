// One report after another: what is compared with what, and which headers are due.
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

    /// The report on `devices`, which select() gave, and on the processors: lines about changes,
    /// headers, figures; with -j, one line. `now` is for that one.
    ///
    /// It covers the time since the last report's look. The first one, and one after devices or
    /// processors came or went, covers the time since each device's creation. With -y there is no
    /// report on the first look, and after a change each device that stayed is compared with
    /// itself.
    [[nodiscard]] std::string report(const Snapshot& devices, const Processors& processors = {},
                                     std::time_t now = 0);

    /// The header once more, for a terminal that was away meanwhile. Empty where every report has
    /// its own, and with -r, whose header is printed once.
    [[nodiscard]] std::string header_again();

  private:
    struct Look {
        Snapshot devices;
        Processors processors;
    };

    [[nodiscard]] std::string text(const Interval& interval);
    [[nodiscard]] std::string vertical(const Interval& interval);
    [[nodiscard]] std::string vertical_lines(const Interval& interval);
    [[nodiscard]] std::string tables(const Interval& interval) const;
    [[nodiscard]] std::string horizontal(const Interval& interval);
    [[nodiscard]] std::string listings(const Snapshot& devices) const;
    [[nodiscard]] bool has_header(const Snapshot& devices) const;

    Options options_;
    std::optional<Look> last_;
    size_t name_width_ = 0;            // only ever grows, so that reports stand under each other
    unsigned lines_until_header_ = 0;  // in a horizontal report
};

}  // namespace blkscope::iostat
