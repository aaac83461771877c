// The meaning of LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES.
#include "tools/blkscope/activation.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace blkscope {
namespace {

constexpr pid_t self = 815;

unsigned count(const char* pid, const char* fds, const char* names = nullptr) {
    return count_activated_sockets({pid, fds, names}, self);
}

TEST(Activation, CountsTheSocketsThatAreOurs) {
    EXPECT_EQ(count("815", "1"), 1u);
    EXPECT_EQ(count("815", "16"), 16u);
    EXPECT_EQ(count("815", "2", "one:two"), 2u);
    EXPECT_EQ(count("815", "1", ""), 1u);  // a socket may have an empty name
}

TEST(Activation, IsSilentWhereThereIsNone) {
    EXPECT_EQ(count(nullptr, nullptr), 0u);
    EXPECT_EQ(count("815", nullptr), 0u);
    EXPECT_EQ(count(nullptr, "1"), 0u);
}

TEST(Activation, IsSilentAboutWhatWasMeantForAnotherProcess) {
    EXPECT_EQ(count("816", "1"), 0u);
    EXPECT_EQ(count("816", "many", "a:b"), 0u);
}

TEST(Activation, RefusesNumbersThatAreNone) {
    for (const char* fds : {"", "0", "-1", "17", "1x", " 1", "one", "99999999999999999999"}) {
        EXPECT_THROW(count("815", fds), std::invalid_argument) << fds;
    }
    for (const char* pid : {"", "0", "-815", "815x", "99999999999999999999"}) {
        EXPECT_THROW(count(pid, "1"), std::invalid_argument) << pid;
    }
}

TEST(Activation, RefusesNamesThatAreTooManyOrTooFew) {
    EXPECT_THROW(count("815", "2", "one"), std::invalid_argument);
    EXPECT_THROW(count("815", "1", "one:two"), std::invalid_argument);
}

}  // namespace
}  // namespace blkscope
