// Writes a report: the kstats that were read, as far as the selectors choose them.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

class Reporter {
  public:
    /// Borrows `options` until the reporter is destroyed.
    explicit Reporter(const Options& options) : options_(options) {}

    /// The report on `kstats`, which are in order, at the time `now`. Each selector in turn shows
    /// all that it selects; with -q none shows anything.
    ///
    /// With -T a line comes first. In JSON every object has a member "time" instead, so that the
    /// whole report is JSON.
    [[nodiscard]] std::string report(const std::vector<Reading>& kstats, std::time_t now);

    /// Whether any report had a statistic to show.
    [[nodiscard]] bool matched() const { return matched_; }

  private:
    void append(std::string& out, const Selector& selector, const Reading& kstat);

    const Options& options_;
    std::optional<program::Json> time_;
    program::Json objects_;  // in JSON, the objects of the report so far
    bool matched_ = false;
};

}  // namespace blkscope::kstat_command
