// Since when a request waits for a server that cannot be reached.

#include "driver/nbd/client/upstream_outage.hpp"

#include <gtest/gtest.h>

namespace blkscope::nbd {
namespace {

TEST(UpstreamOutage, ARequestForAServerThatIsThereWaitsFromNowOn) {
    UpstreamOutage outage(100);
    EXPECT_EQ(outage.waits_since(10, 500), 500);
    outage.attempt_failed(500);
    outage.connected();
    EXPECT_EQ(outage.waits_since(10, 510), 510);
}

TEST(UpstreamOutage, InAnOutageTheTimeInTheQueueCountsFromItsFirstFailureOn) {
    UpstreamOutage outage(100);
    outage.attempt_failed(500);
    outage.attempt_failed(580);
    outage.attempt_failed(660);
    EXPECT_EQ(outage.waits_since(10, 700), 500);
    EXPECT_EQ(outage.waits_since(650, 700), 650);
}

TEST(UpstreamOutage, WithoutAttemptsItIsOver) {
    UpstreamOutage outage(100);
    outage.attempt_failed(500);
    EXPECT_EQ(outage.waits_since(10, 600), 500);
    EXPECT_EQ(outage.waits_since(10, 601), 601);
    outage.attempt_failed(700);
    EXPECT_EQ(outage.waits_since(10, 700), 700);
}

}  // namespace
}  // namespace blkscope::nbd
