#include "blockdev/accounting/error_counts.hpp"

#include <cassert>
#include <cerrno>

#include "base/seqlock.hpp"

namespace blkscope {
namespace {

void increment(uint32_t& count) {
    publish(count, count + 1);
}

// True if the operation did not reach the medium. The kernel refused it, or the link to the disk
// failed or timed out.
bool refused_on_the_way(int error) {
    switch (error) {
        case EINVAL:
        case EBADF:
        case EFAULT:
        case ENOSYS:
        case EOPNOTSUPP:
        case EPERM:
        case ECANCELED:
        case ENOMEM:
        case ENOLINK:
        case ETIMEDOUT:
            return true;
        default:
            return false;
    }
}

}  // namespace

void ErrorCounts::failed(int error) {
    assert(error > 0);
    if (refused_on_the_way(error)) return increment(transport);
    increment(hard);
    switch (error) {
        case EIO:
        case ENODATA:  // the block layer's "critical medium error"
        case EILSEQ:   // ... and its failed protection information
            return increment(media);
        case ENODEV:
        case ENXIO:
        case ENOMEDIUM:
            return increment(no_device);
        case EAGAIN:
        case EBUSY:
            return increment(not_ready);
        default:
            return;  // as for a full file system: hard, without a cause that has a record
    }
}

void ErrorCounts::recovered() {
    increment(soft);
    increment(recoverable);
}

void ErrorCounts::refused() {
    increment(illegal);
}

}  // namespace blkscope
