// Where looks come from: kstats through libkstat, as iostat reads them, and the latency histograms
// through libkstat2.
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
    /// The devices of these names; if there are none, every one that is served, which this
    /// machine's own disks are not.
    explicit Reader(std::vector<std::string> names);

    /// Looks at the devices. What cannot be read, because its provider went away meanwhile, is left
    /// out.
    ///
    /// Errors: throws std::runtime_error if the kstats cannot be had at all. The next look may.
    [[nodiscard]] Look look();

  private:
    [[nodiscard]] bool is_wanted(const iostat::Device& device) const;
    void read_geometry(DeviceLook& look);
    void read_clients(DeviceLook& look);
    [[nodiscard]] kstat_t* read_beside(const iostat::Device& device, const char* what);

    std::vector<std::string> names_;
    iostat::Reader devices_;
    iostat::HistogramReader histograms_;
    Bounds bounds_;  // of the last histograms
};

}  // namespace blkscope::top
