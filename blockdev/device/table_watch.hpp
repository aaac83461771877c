// TableWatch: when a device's partition table is read again, and what is in it then.
//
// A program that writes a table syncs it when it is whole, so the end of a flush is the moment to
// look. The leaving of the last client is the moment for programs that do not sync.
//
// Threads: a worker, under the device's lock.
// Errors:  none. A table that cannot be used is ignored, with a line on standard error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blockdev/accounting/subject.hpp"
#include "blockdev/backing/backing.hpp"
#include "blockdev/device/partition_table.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class TableWatch {
  public:
    explicit TableWatch(const Subject& subject) : subject_(subject) {}

    /// A request has ended. It may have changed the table if it wrote to the first sectors, or to
    /// what lies between the partitions, where the rest of a table is.
    void ended(const Buf& buf, bool has_partitions) {
        if (buf.op != Buf::Op::write && !buf.discards()) return;
        if (buf.offset < table_start_bytes || (buf.partition == nullptr && has_partitions)) {
            touched_ = true;
        }
    }

    /// Whether a write may have changed the table since it was read.
    [[nodiscard]] bool touched() const { return touched_; }

    /// Reads the table, at once.
    std::vector<Partition> read(Backing& backing);

  private:
    const Subject& subject_;
    bool touched_ = false;
    std::string problem_;  // the last one that was printed
};

}  // namespace blkscope
