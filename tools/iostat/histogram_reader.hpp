// Reads histograms: the kstat2 maps below each device's map, through libkstat2 alone.
#pragma once

#include <kstat2.h>

#include <functional>
#include <future>
#include <string_view>
#include <vector>

#include "tools/iostat/snapshot.hpp"

namespace blkscope::iostat {

/// A handle on the tree of the disks' kstats, opened at the first read.
///
/// Threads: one at a time; between begin() and read_into(), one of its own.
class HistogramReader {
  public:
    /// Whether to read the histogram of that name, as read_wait, of a device.
    using Wanted = std::function<bool(const Device& device, std::string_view name)>;

    ~HistogramReader();
    HistogramReader& operator=(HistogramReader&&) = delete;

    /// Begins to look for providers now, in a thread of its own, so that this look and one of libkstat wait for
    /// silent providers at the same time. The next read_into() waits for the end.
    void begin();

    /// Sets the present histograms of each device; a device without histograms stays as it is. The
    /// histograms are read a little later than the device's counters.
    ///
    /// Errors: throws std::runtime_error if the tree cannot be opened or updated.
    void read_into(std::vector<Device>& devices);

    /// The same for the histograms that `wanted` is true for. Each one costs a question to the
    /// provider.
    void read_into(std::vector<Device>& devices, const Wanted& wanted);

  private:
    void refresh();

    kstat2_handle_t handle_ = nullptr;
    std::future<void> begun_;
};

}  // namespace blkscope::iostat
