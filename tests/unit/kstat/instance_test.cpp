#include "kstat/provider/instance.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "../temporary_folder.hpp"
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

TEST(InstanceClaim, LeavesOutNumbersThatAreTakenForCertain) {
    const auto third = kstat::claim_instance("from", -1, 2);
    EXPECT_EQ(third.number(), 2);
    EXPECT_EQ(kstat::claim_instance("from", -1, 2).number(), 3);
    EXPECT_EQ(kstat::claim_instance("from", 1, 2).number(), 1);
    EXPECT_EQ(kstat::claim_instance("from").number(), 0);
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

TEST(InstanceClaim, IsOfTheDirectorysGroupWhateverTheUmask) {
    const mode_t before = umask(077);
    const auto claim = kstat::claim_instance("group");
    umask(before);
    struct stat file {};
    struct stat directory {};
    ASSERT_EQ(stat((run_directory() + "/group.instances").c_str(), &file), 0);
    ASSERT_EQ(stat(run_directory().c_str(), &directory), 0);
    EXPECT_EQ(file.st_mode & 0777, 0660U);
    EXPECT_EQ(file.st_gid, directory.st_gid);
}

// /run/kstat, as packages make it: each user's files are safe from the others, and the numbers are shared.
TEST(InstanceClaim, IsMadeByTwoUsersOfOneGroup) {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to become another user";
    constexpr uid_t other = 54321;
    constexpr gid_t group = 54322;
    const std::string usual = run_directory();
    const test::RunFolder folder;
    ASSERT_EQ(chown(folder.c_str(), 0, group), 0);
    ASSERT_EQ(chmod(folder.c_str(), 03775), 0);
    {
        const auto claim = kstat::claim_instance("shared");
        const pid_t child = fork();
        if (child == 0) {
            if (setgroups(1, &group) != 0 || setgid(other) != 0 || setuid(other) != 0) _exit(100);
            try {
                _exit(kstat::claim_instance("shared").number());
            } catch (const std::system_error& error) {
                _exit(200);
            }
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(claim.number(), 0);
        EXPECT_EQ(WEXITSTATUS(status), 1);
    }
    setenv("KSTAT_DIR", usual.c_str(), 1);
}

TEST(InstanceClaim, RefusesAModuleThatIsAPath) {
    EXPECT_THROW(static_cast<void>(kstat::claim_instance("../x")), std::system_error);
    EXPECT_THROW(static_cast<void>(kstat::claim_instance("")), std::system_error);
}

}  // namespace

}  // namespace blkscope
