#include "kstat/provider/instance.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <system_error>

#include "base/run_directory.hpp"

namespace blkscope {

namespace {

TEST(InstanceClaim, GivesTheLowestFreeNumber) {
    auto first = std::optional(kstat::claim_instance("low"));
    const auto second = kstat::claim_instance("low");
    EXPECT_EQ(first->number(), 0);
    EXPECT_EQ(second.number(), 1);
    first.reset();
    EXPECT_EQ(kstat::claim_instance("low").number(), 0);
}

TEST(InstanceClaim, GivesThePreferredNumberIfItIsFree) {
    const auto claim = kstat::claim_instance("prefer", 7);
    EXPECT_EQ(claim.number(), 7);
    EXPECT_EQ(kstat::claim_instance("prefer", 7).number(), 0);
}

TEST(InstanceClaim, CountsEachModuleForItself) {
    const auto one = kstat::claim_instance("one");
    const auto other = kstat::claim_instance("other");
    EXPECT_EQ(one.number(), other.number());
}

TEST(InstanceClaim, DoesNotStayWithAForkedChild) {
    int hold[2];
    int running[2];
    ASSERT_EQ(pipe(hold) + pipe(running), 0);
    auto claim = std::optional(kstat::claim_instance("fork"));
    const pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        char byte = 'r';
        if (write(running[1], &byte, 1) != 1) _exit(1);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);  // runs until the parent has looked
    }
    char byte;
    ASSERT_EQ(read(running[0], &byte, 1), 1);
    claim.reset();
    EXPECT_EQ(kstat::claim_instance("fork").number(), 0);
    for (const int end : {hold[0], hold[1], running[0], running[1]}) close(end);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(InstanceClaim, RefusesAModuleThatIsAPath) {
    EXPECT_THROW(static_cast<void>(kstat::claim_instance("../x")), std::system_error);
    EXPECT_THROW(static_cast<void>(kstat::claim_instance("")), std::system_error);
}

}  // namespace

}  // namespace blkscope
