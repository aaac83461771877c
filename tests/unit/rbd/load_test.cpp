#include "rbd/load.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "../failure.hpp"

namespace blkscope::rbd {
namespace {

std::string load_failure(const std::string& path) {
    return failure_of<std::runtime_error>([&] { return load_from(path); });
}

TEST(RbdModule, OfAnotherVersionIsRefused) {
    const std::string failure = load_failure(OLD_MODULE);
    EXPECT_NE(failure.find("is of version 0.9, and this program is of version "), std::string::npos)
        << failure;
    EXPECT_NE(failure.find("; restart to use it"), std::string::npos) << failure;
}

TEST(RbdModule, ThatIsAbsentHasAPackageThatIsNamed) {
    EXPECT_EQ(load_failure("/nonexistent/blkscope-rbd.so"),
              "rbd: /nonexistent/blkscope-rbd.so: not found; install the package blkscope-rbd");
}

TEST(RbdModule, ThatIsNoModuleIsRefused) {
    EXPECT_NE(load_failure("/etc/passwd").find("/etc/passwd: not loadable: "), std::string::npos);
    EXPECT_EQ(load_failure("libc.so.6"),
              "rbd: libc.so.6: not found; install the package blkscope-rbd");
}

}  // namespace
}  // namespace blkscope::rbd
