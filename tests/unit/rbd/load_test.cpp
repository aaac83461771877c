#include "rbd/load.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace blkscope::rbd {
namespace {

std::string failure_of(const std::string& path) {
    try {
        (void)load_from(path);
    } catch (const std::runtime_error& failure) {
        return failure.what();
    }
    return "none";
}

TEST(RbdModule, OfAnotherVersionIsRefused) {
    const std::string failure = failure_of(OLD_MODULE);
    EXPECT_NE(failure.find("is of version 0.9, and this program is of version "), std::string::npos)
        << failure;
    EXPECT_NE(failure.find("; restart to use it"), std::string::npos) << failure;
}

TEST(RbdModule, ThatIsAbsentHasAPackageThatIsNamed) {
    EXPECT_EQ(failure_of("/nonexistent/blkscope-rbd.so"),
              "rbd: /nonexistent/blkscope-rbd.so: not found; install the package blkscope-rbd");
}

TEST(RbdModule, ThatIsNoModuleIsRefused) {
    EXPECT_NE(failure_of("/etc/passwd").find("/etc/passwd: not loadable: "), std::string::npos);
    EXPECT_EQ(failure_of("libc.so.6"),
              "rbd: libc.so.6: not found; install the package blkscope-rbd");
}

}  // namespace
}  // namespace blkscope::rbd
