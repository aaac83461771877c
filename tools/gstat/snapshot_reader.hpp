// Takes snapshots of all devices of the machine.
#pragma once

#include "devstat/libdevstat/reader.hpp"
#include "tools/gstat/snapshot.hpp"

namespace blkscope::gstat {

/// Threads: one. Errors: std::system_error.
class SnapshotReader {
  public:
    [[nodiscard]] Snapshot take();

  private:
    devstat::Reader reader_;
};

}  // namespace blkscope::gstat
