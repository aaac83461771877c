#include "base/spawn.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/descriptor_limit.hpp"

namespace blkscope {
namespace {

int wait_for(pid_t process) {
    int status = 0;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// What the command prints, without its last line feed.
std::string output_of(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const Descriptor from(ends[0]);
    Descriptor to(ends[1]);
    const auto process = spawn(words, {.output = to.get()});
    to = Descriptor();
    std::string text;
    std::array<char, 256> part{};
    for (ssize_t bytes; (bytes = ::read(from.get(), part.data(), part.size())) > 0;) {
        text.append(part.data(), static_cast<size_t>(bytes));
    }
    EXPECT_TRUE(process && wait_for(*process) == 0);
    if (!text.empty()) text.pop_back();
    return text;
}

/// In a process of its own, because limits and signals are the process's.
template <class Action>
void expect_apart(Action action) {
    const pid_t child = fork();
    if (child == 0) {
        action();
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    EXPECT_EQ(wait_for(child), 0);
}

TEST(Spawn, GivesTheInheritedLimitOfDescriptorsBack) {
    expect_apart([] {
        for (const rlim_t hard : {rlim_t{512}, rlim_t{384}}) {
            rlimit limit{256, hard};
            ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
            raise_descriptor_limit();
            EXPECT_EQ(descriptor_limit(), hard);
            EXPECT_EQ(output_of({"sh", "-c", "ulimit -Sn; ulimit -Hn"}),
                      "256\n" + std::to_string(hard));
            EXPECT_EQ(descriptor_limit(), hard) << "this process keeps its own";
        }
    });
}

TEST(Spawn, ALimitThatWasNotRaisedIsInherited) {
    expect_apart([] {
        rlimit limit{200, 200};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        raise_descriptor_limit();
        EXPECT_EQ(output_of({"sh", "-c", "ulimit -Sn"}), "200");
    });
}

TEST(Spawn, BlockedAndIgnoredSignalsAreAsUsual) {
    expect_apart([] {
        ::signal(SIGPIPE, SIG_IGN);
        ::signal(SIGHUP, SIG_IGN);  // as nohup(1) does
        sigset_t some;
        sigemptyset(&some);
        sigaddset(&some, SIGTERM);
        sigprocmask(SIG_BLOCK, &some, nullptr);
        EXPECT_EQ(
            output_of({"sh", "-c", "sed -nE 's/^Sig(Blk|Ign):[^0-9a-f]*0*//p' /proc/self/status"}),
            "\n1");
    });
}

TEST(Spawn, AProgramThatIsNotThereIsAnErrno) {
    const auto none = spawn({"/nowhere/program"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().value(), ENOENT);
    const auto folder = spawn({"/"});
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().value(), EACCES);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(Spawn, FindsTheProgramInThePath) {
    const auto process = spawn({"sh", "-c", "exit 7"});
    ASSERT_TRUE(process);
    EXPECT_EQ(wait_for(*process), 7);
}

}  // namespace
}  // namespace blkscope
