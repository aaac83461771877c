// Reads the statistics of the published kstats, through libkstat alone.
#pragma once

#include <kstat.h>

#include <string>
#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/statistic.hpp"

namespace blkscope::kstat_command {

/// A handle on the chain of kstats, opened at the first read.
///
/// Threads: one.
class Reader {
  public:
    /// Borrows `options` until the reader is destroyed.
    explicit Reader(const Options& options) : options_(options) {}

    /// Brings the chain up to date and reads every kstat that the options ask for. The statistics
    /// of a kstat are those of its data, and crtime. If the kstat could be read, snaptime is added.
    /// If the options list the class, the class is added. If a provider was removed meanwhile, its
    /// kstat has only crtime and class.
    ///
    /// Kstats are in the order of a report, and statistics in the order of their names. Of several
    /// that are equal in this order, the last one comes first, as in the original.
    ///
    /// Errors: throws std::system_error if the chain cannot be opened or updated.
    [[nodiscard]] std::vector<Reading> read();

    /// A kstat of the last read() whose name is where a selector has the module, as in `kstat nbd0`:
    /// "nbd:0:nbd0". Empty if there is none.
    [[nodiscard]] std::string named_as_module() const;

    /// Whether the last read() lacked providers, because there was no descriptor for them.
    [[nodiscard]] bool is_partial() const { return is_partial_; }

  private:
    void refresh();
    void fill(Reading& reading, kstat_t& ksp);

    const Options& options_;
    program::Chain kc_;
    bool is_partial_ = false;
};

}  // namespace blkscope::kstat_command
