#include "tools/blkscope/failure.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace blkscope {
namespace {

TEST(Failure, SaysWhatWhyAndWhatToDo) {
    EXPECT_EQ(failure_text(std::system_error(ENOENT, std::generic_category(), "open disk.img")),
              "open disk.img: No such file or directory; see that the path is right");
    EXPECT_EQ(
        failure_text(std::system_error(EADDRINUSE, std::generic_category(), "listen on s")),
        "listen on s: Address already in use; stop the server that uses it, or choose another "
        "address");
}

TEST(Failure, OfAThreadNamesTheLimits) {
    EXPECT_EQ(failure_text(std::system_error(EAGAIN, std::generic_category(), "start a thread")),
              "start a thread: Resource temporarily unavailable; raise the limit of threads, as "
              "ulimit -u, or TasksMax of the service");
}

TEST(Failure, TellsOnlyOthersToBecomeRoot) {
    for (const int error : {EACCES, EPERM}) {
        const std::system_error failure(error, std::generic_category(), "open disk.img");
        EXPECT_TRUE(failure_text(failure, false).ends_with("; see who may use it, or run as root"));
        EXPECT_TRUE(failure_text(failure, true)
                        .ends_with("; see what forbids it to root: attributes, capabilities or "
                                   "the file system"));
    }
}

TEST(Failure, AddsNothingToWhatSaysItAllOrHasNoRemedy) {
    EXPECT_EQ(failure_text(std::runtime_error("a: b; c")), "a: b; c");
    EXPECT_EQ(failure_text(std::system_error(EIO, std::generic_category(), "open disk.img")),
              "open disk.img: Input/output error");
    EXPECT_EQ(failure_text(std::bad_alloc()), "out of memory");
}

}  // namespace
}  // namespace blkscope
