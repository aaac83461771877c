// Takes snapshots of the machine's devices.
#ifndef GSTAT_SNAPSHOT_READER_HPP
#define GSTAT_SNAPSHOT_READER_HPP

#include "devstat/libdevstat/reader.hpp"
#include "gstat/snapshot.hpp"

namespace blkscope::gstat {

/// Threads: one. Errors: std::system_error.
class SnapshotReader {
  public:
    [[nodiscard]] Snapshot take();

  private:
    devstat::Reader reader_;
};

}  // namespace blkscope::gstat

#endif
