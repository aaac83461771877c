// The terminal and the signals that are watched: drawing must not change them.
#include "tools/top/terminal.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "tools/top/events.hpp"

namespace blkscope::top {
namespace {

// curses disables job control while it draws. A signal from before the drawing must not be lost.
TEST(TopTerminal, ASignalThatComesBeforeADrawingIsThereBehindIt) {
    setenv("TERM", "ansi", 1);
    for (const int signal : {SIGTSTP, SIGINT, SIGTERM, SIGWINCH}) {
        Events events({SIGTSTP, SIGINT, SIGTERM, SIGWINCH}, 10'000'000'000, false);
        testing::internal::CaptureStdout();
        {
            Terminal terminal(false);
            kill(getpid(), signal);
            terminal.draw(Screen({.columns = 80, .rows = 24}));
        }
        EXPECT_NE(testing::internal::GetCapturedStdout(), "");
        EXPECT_EQ(events.wait().signal, signal);
    }
}

TEST(TopEvents, AtTheEndSignalsDoWhatTheyDidBefore) {
    struct sigaction before {};
    struct sigaction behind {};
    sigaction(SIGTSTP, nullptr, &before);
    { const Events events({SIGTSTP}, 1'000'000'000, false); }
    sigaction(SIGTSTP, nullptr, &behind);
    EXPECT_EQ(before.sa_handler, behind.sa_handler);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGTSTP), 0);
}

}  // namespace
}  // namespace blkscope::top
