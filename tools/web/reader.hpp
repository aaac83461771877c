// Reads looks through libkstat and libkstat2, as iostat does.
#pragma once

#include <string>

#include "tools/iostat/histogram_reader.hpp"
#include "tools/iostat/reader.hpp"
#include "tools/web/look.hpp"

namespace blkscope::web {

/// Threads: one.
class Reader {
  public:
    Reader();

    /// Reads all devices, partitions and clients. Values that cannot be read are left out, because
    /// a provider may be removed at any time.
    ///
    /// Errors: throws std::runtime_error if no kstats can be read. The next look may succeed.
    [[nodiscard]] Look look();

  private:
    void read_beside(DeviceLook& look);
    [[nodiscard]] kstat_t* read_beside(const iostat::Device& device, const char* what);

    iostat::Reader devices_;
    iostat::HistogramReader histograms_;
};

}  // namespace blkscope::web
