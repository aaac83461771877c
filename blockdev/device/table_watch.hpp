// TableWatch: decides when a device's partition table is read again, and what a look means.
//
// A program that writes a table syncs it when it is complete, so the device asks after each flush.
// Some programs do not sync. For them the device also asks when the last client has closed its
// connection.
//
// Units:     bytes.
// Ownership: borrows the subject, which outlives it.
// Threads:   a worker, with the device locked.
// Errors:    none. A table that cannot be used is ignored, with a line on standard error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blockdev/accounting/subject.hpp"
#include "blockdev/device/partition_table.hpp"
#include "blockdev/device/table_look.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope {

class TableWatch {
  public:
    explicit TableWatch(const Subject& subject) : subject_(subject) {}

    /// A request has ended. A write to the first sectors may have changed the table. So may a
    /// write between partitions, where the rest of a table lies.
    void ended(const Buf& buf, bool has_partitions) {
        if (buf.bcount == 0 || (buf.op != Buf::Op::write && !buf.discards())) return;
        if (buf.offset < table_start_bytes || (buf.partition == nullptr && has_partitions)) {
            touched_ = true;
        }
    }

    /// Whether a write may have changed the table since it was read.
    [[nodiscard]] bool touched() const { return touched_; }

    /// The bytes have changed without a request.
    void touch() { touched_ = true; }

    /// The partitions of a look. Nothing if the table could not be read: it is then still to be read.
    std::optional<std::vector<Partition>> take(TableLook look);

  private:
    /// Prints a problem, unless it is the last one that was printed.
    void tell(const std::string& problem);

    const Subject& subject_;
    bool touched_ = false;
    std::string problem_;  // the last problem that was printed
};

}  // namespace blkscope
