// The end of a process, with and without a detached thread at work.

#include "base/detached_thread.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace blkscope {
namespace {

constexpr int status = 3;
constexpr int status_of_a_handler = 9;

// The end of main(), in a process whose libraries have a handler.
[[noreturn]] void end() {
    std::atexit([] { ::_exit(status_of_a_handler); });
    std::exit(end_process(status));
}

TEST(DetachedThread, WithoutWorkTheHandlersRun) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(end(), testing::ExitedWithCode(status_of_a_handler), "");
}

TEST(DetachedThread, WithWorkTheProcessEndsAtOnce) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            run_detached([] { ::pause(); });
            end();
        },
        testing::ExitedWithCode(status), "");
}

}  // namespace
}  // namespace blkscope
