// Where the statistics come from: the kstats that are published, read through libkstat alone.
#pragma once

#include <kstat.h>

#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// A handle on the chain of kstats, opened at the first read.
///
/// Threads: one.
class Reader {
  public:
    /// Borrows `options` for as long as the reader lives.
    explicit Reader(const Options& options) : options_(options) {}

    /// Brings the chain up to date and reads every kstat that the options ask for. Its statistics
    /// are those of its data, with crtime, with snaptime if it could be read, and with its class if
    /// the options list that. Of one whose provider is gone meanwhile, crtime and class are left.
    ///
    /// Errors: throws std::system_error if the chain cannot be had, and BadPattern.
    [[nodiscard]] std::vector<Reading> read();

  private:
    void refresh();
    void fill(Reading& reading, kstat_t& ksp);

    const Options& options_;
    program::Chain kc_;
};

}  // namespace blkscope::kstat_command
