// The message that a user reads when a ring cannot be set up.
#include "blockdev/ring/set_up_failure.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace blkscope {
namespace {

TEST(SetUpFailure, NamesTheLimitOfLockedMemoryAndTheNumberThatIsNeeded) {
    EXPECT_EQ(set_up_failure(ENOMEM, ring_memory_bytes(512)),
              "set up io_uring: Cannot allocate memory; each worker's ring takes 100 KiB of "
              "RLIMIT_MEMLOCK, which all rings of a user share: raise it (ulimit -l, "
              "LimitMEMLOCK=), have fewer workers (--workers), or free memory");
}

TEST(SetUpFailure, BlamesSeccompOnlyWhereItForbids) {
    EXPECT_EQ(set_up_failure(EPERM, 1),
              "set up io_uring: Operation not permitted; check that kernel.io_uring_disabled is "
              "0 and that no container's seccomp profile forbids io_uring");
    EXPECT_EQ(set_up_failure(ENOSYS, 1),
              "set up io_uring: Function not implemented; this kernel has no io_uring, or a "
              "container's seccomp profile hides it; blkscope needs Linux 5.19 or later");
    for (const int error : {ENOMEM, EMFILE, EINVAL, EIO}) {
        EXPECT_EQ(set_up_failure(error, 1).find("seccomp"), std::string::npos) << error;
    }
}

// Whole pages: for the submissions, and for the rest.
TEST(SetUpFailure, CountsARingsMemoryInPages) {
    EXPECT_EQ(ring_memory_bytes(1), 2u * 4096);
    EXPECT_EQ(ring_memory_bytes(65), (2u + 3u) * 4096);
    EXPECT_EQ(ring_memory_bytes(512), 100u * 1024);
}

}  // namespace
}  // namespace blkscope
