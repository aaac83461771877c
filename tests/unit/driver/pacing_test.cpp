#include "driver/nbd/transmission/pacing.hpp"

#include <gtest/gtest.h>

namespace blkscope::nbd {
namespace {

constexpr uint64_t much = 100'000;
constexpr uint64_t little = 1000;

/// Sends enough replies for a hold, and reports `left` unread bytes after it.
bool next_hold(Pacing& pacing, uint64_t left) {
    pacing.sent(much);
    const bool held = pacing.hold();
    EXPECT_EQ(pacing.asks_what_is_left(), held);
    if (held) pacing.found_left(left);
    return held;
}

int holds_in(Pacing& pacing, int times, uint64_t left) {
    int holds = 0;
    for (int i = 0; i < times; ++i) holds += next_hold(pacing, left) ? 1 : 0;
    return holds;
}

TEST(Pacing, AClientWithoutRepliesIsAskedAtOnce) {
    Pacing pacing;
    EXPECT_FALSE(pacing.hold());
    pacing.sent(little);
    EXPECT_FALSE(pacing.hold());
}

TEST(Pacing, SmallRepliesAddUp) {
    Pacing pacing;
    int receives = 1;
    for (; !pacing.hold() && receives < 1000; ++receives) pacing.sent(little);
    EXPECT_GT(receives, 10);
    EXPECT_LT(receives, 100);
}

TEST(Pacing, AHoldIsNotRepeatedBeforeFurtherReplies) {
    Pacing pacing;
    EXPECT_TRUE(next_hold(pacing, much));
    EXPECT_FALSE(pacing.hold());
    EXPECT_TRUE(next_hold(pacing, much));
}

TEST(Pacing, AClientThatAlwaysHasRepliesLeftIsHeldEachTime) {
    Pacing pacing;
    EXPECT_EQ(holds_in(pacing, 100, much), 100);
}

TEST(Pacing, AClientThatHadToWaitIsHardlyEverHeld) {
    Pacing pacing;
    holds_in(pacing, 1000, little);
    EXPECT_LE(holds_in(pacing, 1280, little), 10);
    // holds are tried again, since the client may have changed
    EXPECT_GE(holds_in(pacing, 1280, little), 1);
}

TEST(Pacing, OnceTooLongIsForgottenSoon) {
    Pacing pacing;
    holds_in(pacing, 10, much);
    EXPECT_TRUE(next_hold(pacing, little));
    EXPECT_FALSE(next_hold(pacing, much));
    EXPECT_EQ(holds_in(pacing, 100, much), 100);
}

TEST(Pacing, AClientThatHasRepliesLeftAgainIsHeldAgain) {
    Pacing pacing;
    holds_in(pacing, 1000, little);
    holds_in(pacing, 1000, much);
    EXPECT_EQ(holds_in(pacing, 100, much), 100);
}

}  // namespace
}  // namespace blkscope::nbd
