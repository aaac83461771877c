// Reads looks: kstats through libkstat, as iostat does, and the latency histograms through
// libkstat2.
#pragma once

#include <kstat.h>

#include <string>
#include <vector>

#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/top/look.hpp"

namespace blkscope::top {

class Reader {
  public:
    /// Reads the devices of these names, and their clients if asked. Without names it reads every
    /// served device, but not this machine's own disks.
    explicit Reader(std::vector<std::string> names, bool clients = false);

    /// Reads the devices. Values that cannot be read are omitted, because a provider may be removed
    /// at any time.
    ///
    /// Errors: throws std::runtime_error if no kstats can be read. The next look may succeed.
    [[nodiscard]] Look look();

  private:
    [[nodiscard]] bool is_wanted(const iostat::Device& device) const;
    void read_geometry(DeviceLook& look);
    void read_clients(DeviceLook& look);
    void read_identity(DeviceLook& look);
    [[nodiscard]] kstat_t* read_beside(const iostat::Device& device, const char* what);

    std::vector<std::string> names_;
    iostat::Reader devices_;
    iostat::HistogramReader histograms_;
    Bounds bounds_;  // bounds of the last histograms
};

}  // namespace blkscope::top
