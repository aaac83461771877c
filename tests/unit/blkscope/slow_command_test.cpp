// The lines of blkscope slow.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "tools/blkscope/slow_look.hpp"

namespace blkscope {
namespace {

constexpr int64_t now_ns = 99'000'000;

SlowRequest failed_read() {
    SlowRequest slow{.when = "12:00:01.500", .client = "client-1", .request = {}};
    slow.request = {.received = 1'000'000,
                    .queued = 2'000'000,
                    .started = 4'500'000,
                    .finished = 10'000'000,
                    .replied = 10'250'000};
    slow.request.bytes = 4096;
    slow.request.error = EIO;
    return slow;
}

TEST(Slow, ALineHasTheStages) {
    EXPECT_EQ(slow_header(SlowLines::short_ones) +
                  slow_lines({failed_read()}, now_ns, SlowLines::short_ones),
              "time         client   op          offset bytes  recv   wait   serv  reply  total\n"
              "12:00:01.500 client-1 read             0    4K   1ms  2.5ms  5.5ms  250us 9.25ms "
              "(Input/output error)\n");
}

TEST(Slow, AWideLineHasTheStagesInMilliseconds) {
    EXPECT_EQ(slow_lines({failed_read()}, now_ns, SlowLines::long_ones),
              "12:00:01.500 client-1      read                      0     4096      1.000      "
              "2.500      5.500      0.250      9.250  ended (Input/output error)\n");
}

TEST(Slow, NoLineIsLongerThanATerminal) {
    EXPECT_EQ(slow_header(SlowLines::short_ones).size(), 81u);  // with its end
    SlowRequest slow{.when = "12:00:01.500", .client = "client-1", .request = {}};
    slow.request.op = trace::Op::write_zeroes;
    slow.request.offset = 99'999'999'488;
    slow.request.bytes = 33'554'432;
    const std::array<int64_t, 5> lengths{1, 999'499, 999'500, 59'123'456, 99'876'543'210};
    for (const int64_t length : lengths) {
        slow.request.received = 1;
        slow.request.queued = slow.request.received + length;
        slow.request.started = slow.request.queued + length;
        slow.request.finished = slow.request.started + length;
        slow.request.replied = slow.request.finished + length;
        const std::string line = slow_lines({slow}, now_ns, SlowLines::short_ones);
        EXPECT_LE(line.size(), 81u) << line;
        slow.request.finished = slow.request.replied = 0;
        const std::string lasting =
            slow_lines({slow}, slow.request.started + length, SlowLines::short_ones);
        EXPECT_LE(lasting.size(), 81u) << lasting;
    }
}

TEST(Slow, TheStageThatLastsIsMarked) {
    trace::Request request{.received = 1'000'000};
    const auto lines = [&](SlowLines how) {
        return slow_lines({{"now", "-", request}}, 5'000'000, how);
    };
    const auto shows = [&](const char* text) {
        const std::string both = lines(SlowLines::short_ones) + lines(SlowLines::long_ones);
        return both.find(text) != std::string::npos ? std::string() : both;
    };
    EXPECT_STREQ(stage_of(request), "receive");
    EXPECT_EQ(shows("    >4.000          -          -          -      4.000  receive\n"), "");
    EXPECT_EQ(shows("  >4ms      -      -      -    4ms\n"), "");
    request.queued = 2'000'000;
    EXPECT_STREQ(stage_of(request), "wait");
    request.started = 3'000'000;
    EXPECT_STREQ(stage_of(request), "service");
    EXPECT_EQ(shows("     1.000      1.000     >2.000          -      4.000  service\n"), "");
    EXPECT_EQ(shows("   1ms    1ms   >2ms      -    4ms\n"), "");
    request.finished = 4'000'000;
    EXPECT_STREQ(stage_of(request), "reply");
    EXPECT_EQ(shows("    >1.000      4.000  reply\n"), "");
}

}  // namespace
}  // namespace blkscope
