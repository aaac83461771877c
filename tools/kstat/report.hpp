// A report: what the selectors choose of the kstats that were read, written down.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

class Reporter {
  public:
    /// Borrows `options` for as long as the reporter lives.
    explicit Reporter(const Options& options) : options_(options) {}

    /// The report on `kstats`, which are in order, it being `now`; empty with -q. Each selector in
    /// turn shows all that it chooses. Throws BadPattern.
    ///
    /// With -T there is a line in front, but in JSON a member "time" in every object, so that the
    /// report is JSON as a whole.
    [[nodiscard]] std::string report(const std::vector<Reading>& kstats, std::time_t now);

    /// Whether any report had a statistic to show.
    [[nodiscard]] bool matched() const { return matched_; }

  private:
    void append(std::string& out, const Selector& selector, const Reading& kstat);

    const Options& options_;
    std::optional<program::Json> time_;
    program::Json objects_;  // in JSON, those of the report so far
    bool matched_ = false;
};

}  // namespace blkscope::kstat_command
