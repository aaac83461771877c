// Since when a request waits for a server that does not answer, and what shows that.

#include "driver/nbd/client/upstream_outage.hpp"

#include <gtest/gtest.h>

namespace blkscope::nbd {
namespace {

/// Whether a request fails that was given just now and has waited for longer than the timeout.
bool fails(const UpstreamOutage& outage, int64_t now) {
    return outage.is_late(now, now - 1000, now);
}

TEST(UpstreamOutage, ARequestForAServerThatIsThereWaitsFromNowOn) {
    UpstreamOutage outage(1000, 100);
    EXPECT_EQ(outage.waits_since(10, 500), 500);
    outage.lost(400, 500);
    outage.answered(505);
    EXPECT_EQ(outage.waits_since(10, 510), 510);
    EXPECT_FALSE(fails(outage, 510));
}

TEST(UpstreamOutage, TheTimeInTheQueueCountsFromTheFirstRequestWithoutAnAnswerOn) {
    UpstreamOutage outage(1000, 100);
    outage.lost(400, 500);
    EXPECT_EQ(outage.waits_since(10, 520), 400);
    EXPECT_EQ(outage.waits_since(450, 520), 450);
}

// One request is stuck, and the server answers all others.
TEST(UpstreamOutage, BeginsAfterTheLatestAnswer) {
    UpstreamOutage outage(1000, 100);
    outage.answered(450);
    outage.lost(20, 500);
    EXPECT_EQ(outage.waits_since(10, 520), 450);
}

// However long it lasts and however seldom the attempts are.
TEST(UpstreamOutage, LastsUntilAnAnswer) {
    UpstreamOutage outage(1000, 100);
    outage.attempt_begins(500);
    outage.attempt_failed(510);
    outage.attempt_begins(90'000);
    outage.attempt_failed(95'000);
    EXPECT_EQ(outage.waits_since(10, 200'000), 500);
    outage.attempt_begins(200'000);  // now a connection, which is lost before its first answer
    outage.lost(200'010, 200'020);
    EXPECT_EQ(outage.waits_since(10, 200'100), 500);
}

TEST(UpstreamOutage, ALossAfterAnAnswerIsNoEvidence) {
    UpstreamOutage outage(1000, 100);
    outage.answered(450);
    outage.lost(20, 500);
    EXPECT_FALSE(fails(outage, 500));
}

// The next connection may be as silent, so the queue must not wait for it.
TEST(UpstreamOutage, TheLossOfAServerThatWasSilentForAMomentIsEvidence) {
    UpstreamOutage outage(1000, 100);
    outage.lost(400, 500);
    EXPECT_TRUE(fails(outage, 500));
    UpstreamOutage short_silence(1000, 100);
    short_silence.lost(401, 500);
    EXPECT_FALSE(fails(short_silence, 500));
}

TEST(UpstreamOutage, AFailedAttemptIsEvidenceForAMoment) {
    UpstreamOutage outage(1000, 100);
    outage.attempt_begins(500);
    EXPECT_FALSE(fails(outage, 510));
    outage.attempt_failed(510);
    EXPECT_TRUE(fails(outage, 610));
    EXPECT_FALSE(fails(outage, 611));
    outage.attempt_begins(620);
    outage.lost(625, 630);
    EXPECT_TRUE(fails(outage, 730));
    EXPECT_FALSE(fails(outage, 731));
}

TEST(UpstreamOutage, ARequestIsLateInTimeWithoutEvidence) {
    const UpstreamOutage outage(1000, 100);
    EXPECT_FALSE(outage.is_late(10, 10, 1009));
    EXPECT_TRUE(outage.is_late(10, 10, 1010));
}

TEST(UpstreamOutage, AnAttemptIsDueAMomentBeforeARequestFails) {
    UpstreamOutage outage(1000, 100);
    outage.lost(0, 0);
    EXPECT_FALSE(outage.needs_attempt(0, 899));
    EXPECT_TRUE(outage.needs_attempt(0, 900));
    outage.attempt_begins(900);
    outage.attempt_failed(910);
    EXPECT_FALSE(outage.needs_attempt(0, 1000));  // the failure is evident
    EXPECT_FALSE(outage.needs_attempt(0, 1010));
    EXPECT_TRUE(outage.needs_attempt(0, 1011));
}

TEST(UpstreamOutage, AServerThatClosesAfterEachAnswerGetsAnAttemptEachMoment) {
    UpstreamOutage outage(1000, 100);
    outage.lost(0, 5000);
    for (int64_t now = 6000; now < 7000; now += 100) {
        EXPECT_TRUE(outage.needs_attempt(5000, now));
        outage.attempt_begins(now);
        outage.connected();
        outage.sent(now + 1);
        outage.answered(now + 2);
        outage.lost(now + 2, now + 3);
        EXPECT_FALSE(outage.needs_attempt(5000, now + 99));
    }
}

TEST(UpstreamOutage, AConnectionWithoutARequestShowsNothing) {
    UpstreamOutage outage(1000, 100);
    outage.lost(0, 0);
    outage.attempt_begins(2000);
    outage.attempt_failed(2050);
    outage.attempt_begins(2060);
    outage.connected();
    EXPECT_FALSE(fails(outage, 2070));
    EXPECT_FALSE(fails(outage, 3000));
    outage.sent(3000);
    EXPECT_FALSE(fails(outage, 3099));
    EXPECT_TRUE(fails(outage, 3100));
}

TEST(UpstreamOutage, AnAttemptWithoutAnEndIsEvidenceAfterAMoment) {
    UpstreamOutage outage(1000, 100);
    outage.attempt_begins(500);
    EXPECT_FALSE(fails(outage, 599));
    EXPECT_TRUE(fails(outage, 600));
    EXPECT_TRUE(fails(outage, 5000));
}

}  // namespace
}  // namespace blkscope::nbd
