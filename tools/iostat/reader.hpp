// Where the figures come from: the kstats that are published, read through libkstat alone.
#ifndef IOSTAT_READER_HPP
#define IOSTAT_READER_HPP

#include <kstat.h>

#include <memory>
#include <string>
#include <vector>

#include "iostat/snapshot.hpp"

namespace blkscope::iostat {

/// A handle on the chain of kstats, opened at the first read, and again as long as there is no run
/// directory to open.
///
/// Threads: one.
class Reader {
  public:
    explicit Reader(const Options& options) : options_(options) {}

    /// Brings the chain up to date and reads the I/O kstat of every device the options want. One
    /// that cannot be read, because its provider went away meanwhile, is left out.
    ///
    /// Errors: throws std::system_error if the chain cannot be had.
    [[nodiscard]] std::vector<Device> read();

    /// Whether the last read found a kstat that some provider published. The framework's own, of
    /// module unix, do not count.
    [[nodiscard]] bool anything_published() const;

  private:
    struct Close {
        void operator()(kstat_ctl_t* kc) const { kstat_close(kc); }
    };

    bool refresh();

    Options options_;
    std::unique_ptr<kstat_ctl_t, Close> kc_;
};

/// The directory that libkstat looks into, for messages.
[[nodiscard]] std::string run_directory();

}  // namespace blkscope::iostat

#endif
