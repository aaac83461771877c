// The lines of blkscope slow.
#include "tools/blkscope/slow_look.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace blkscope {
namespace {

TEST(Slow, ALineHasTheStagesInMilliseconds) {
    SlowRequest slow{.when = "12:00:01.500", .client = "client-1", .request = {}};
    slow.request = {.received = 1'000'000,
                    .queued = 2'000'000,
                    .started = 4'500'000,
                    .finished = 10'000'000,
                    .replied = 10'250'000};
    slow.request.bytes = 4096;
    slow.request.error = EIO;
    EXPECT_EQ(slow_lines({slow}, 99'000'000),
              "12:00:01.500 client-1      read                      0     4096      1.000      "
              "2.500      5.500      0.250      9.250  ended (Input/output error)\n");
}

TEST(Slow, TheStageThatLastsIsMarked) {
    trace::Request request{.received = 1'000'000};
    const auto lines = [&] { return slow_lines({{"now", "-", request}}, 5'000'000); };
    EXPECT_STREQ(stage_of(request), "receive");
    EXPECT_NE(lines().find("    >4.000          -          -          -      4.000  receive\n"),
              std::string::npos);
    request.queued = 2'000'000;
    EXPECT_STREQ(stage_of(request), "wait");
    request.started = 3'000'000;
    EXPECT_STREQ(stage_of(request), "service");
    EXPECT_NE(lines().find("     1.000      1.000     >2.000          -      4.000  service\n"),
              std::string::npos);
    request.finished = 4'000'000;
    EXPECT_STREQ(stage_of(request), "reply");
    EXPECT_NE(lines().find("    >1.000      4.000  reply\n"), std::string::npos);
}

}  // namespace
}  // namespace blkscope
