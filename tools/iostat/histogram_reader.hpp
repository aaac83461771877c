// Where histograms come from: the kstats of the second kind below each device's, read through
// libkstat2 alone.
#pragma once

#include <kstat2.h>

#include <vector>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// A handle on the tree of disks' kstats, opened at the first read.
///
/// Threads: one.
class HistogramReader {
  public:
    HistogramReader() = default;
    ~HistogramReader();
    HistogramReader(const HistogramReader&) = delete;
    HistogramReader& operator=(const HistogramReader&) = delete;

    /// Gives each device the histograms that its provider publishes of it, as they are now; none to
    /// one without any. They are of another moment than the device's counters, a little later.
    ///
    /// Errors: throws std::runtime_error if the tree cannot be had.
    void read_into(std::vector<Device>& devices);

  private:
    void refresh();

    kstat2_handle_t handle_ = nullptr;
};

}  // namespace blkscope::iostat
