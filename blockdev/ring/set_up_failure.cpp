#include "blockdev/ring/set_up_failure.hpp"

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace blkscope {
namespace {

constexpr size_t kib = 1024;
constexpr size_t kernel_page = 4096;

constexpr size_t submission_bytes = 64;           // struct io_uring_sqe
constexpr size_t completion_bytes = 16;           // struct io_uring_cqe
constexpr size_t index_bytes = sizeof(uint32_t);  // into the submissions
constexpr size_t header_bytes = 512;              // heads and tails; an upper bound

constexpr size_t whole_pages(size_t bytes) {
    return (bytes + kernel_page - 1) / kernel_page * kernel_page;
}

std::string todo(int error, size_t ring_bytes) {
    switch (error) {
        case ENOMEM:
            return "each worker's ring takes " + std::to_string(ring_bytes / kib) +
                   " KiB of RLIMIT_MEMLOCK, which all rings of a user share: raise it (ulimit -l, "
                   "LimitMEMLOCK=), have fewer workers (--workers), or free memory";
        case EPERM:
            return "check that kernel.io_uring_disabled is 0 and that no container's seccomp "
                   "profile "
                   "forbids io_uring";
        case ENOSYS:
            return "this kernel has no io_uring, or a container's seccomp profile hides it; "
                   "blkscope needs Linux 5.19 or later";
        case EMFILE:
        case ENFILE:
            return "raise the limit of descriptors, as in ulimit -n 4096";
        case EINVAL:
            return "this kernel's io_uring is too old; blkscope needs Linux 5.19 or later";
        default:
            return "read the kernel's log, as with dmesg";
    }
}

}  // namespace

size_t ring_memory_bytes(size_t entries) {
    assert(entries > 0);
    const size_t queues =
        header_bytes + entries * completion_queue_factor * completion_bytes + entries * index_bytes;
    return whole_pages(entries * submission_bytes) + whole_pages(queues);
}

std::string set_up_failure(int error, size_t ring_bytes) {
    assert(error > 0);
    return "set up io_uring: " + std::generic_category().message(error) + "; " +
           todo(error, ring_bytes);
}

}  // namespace blkscope
