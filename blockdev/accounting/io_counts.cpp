#include "blockdev/accounting/io_counts.hpp"

#include <stdexcept>

namespace blkscope {

IoCounts::IoCounts(const Seqlock& seq, const Subject& subject)
    : disk_(seq, subject.instance, subject.name, disk_class, subject.block_bytes),
      partitions_(seq, subject.instance, subject.block_bytes) {
    if (subject.published() && !disk_.published()) {
        throw std::runtime_error("create kstat " + subject.name);
    }
}

}  // namespace blkscope
