// One report after another: what is compared with what, and which headers are due.
#ifndef IOSTAT_REPORT_HPP
#define IOSTAT_REPORT_HPP

#include <optional>
#include <string>

#include "iostat/figures.hpp"

namespace blkscope::iostat {

class Reporter {
  public:
    explicit Reporter(const Options& options) : options_(options) {}

    /// The report on `now`, which select() gave: lines about changes, headers, devices.
    ///
    /// It covers the time since the last report's snapshot. The first one, and one after devices
    /// came or went, covers the time since each device's creation.
    [[nodiscard]] std::string report(const Snapshot& now);

    /// The header once more, for a terminal that was away meanwhile. Empty where every report has
    /// its own, and with -r, whose header is printed once.
    [[nodiscard]] std::string header_again();

  private:
    [[nodiscard]] std::string vertical(const Snapshot* before, const Snapshot& now);
    [[nodiscard]] std::string horizontal(const Snapshot* before, const Snapshot& now);
    [[nodiscard]] Figures figures_of(const Snapshot* before, const Device& now) const;

    Options options_;
    std::optional<Snapshot> last_;
    size_t name_width_ = 0;            // only ever grows, so that reports stand under each other
    unsigned lines_until_header_ = 0;  // in a horizontal report
};

}  // namespace blkscope::iostat

#endif
