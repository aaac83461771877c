#include "tools/iostat/processors.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"

namespace blkscope::iostat {
namespace {

using Changes = std::vector<std::string>;

TEST(IostatProcessors, FiguresSinceTheSystemsStart) {
    const ProcessorFigures f = processor_figures(nullptr, two_processors(), {});
    EXPECT_DOUBLE_EQ(f.user, 6);
    EXPECT_DOUBLE_EQ(f.system, 4);
    EXPECT_DOUBLE_EQ(f.idle, 90);
    EXPECT_DOUBLE_EQ(f.dtrace, 0);
    EXPECT_DOUBLE_EQ(f.characters_in, 3);
    EXPECT_DOUBLE_EQ(f.characters_out, 120);
}

TEST(IostatProcessors, AnIntervalIsWhatGrewInIt) {
    const Processors before = two_processors();
    Processors now = before;
    const auto ticks_per_s = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    for (Processor& processor : now) {
        processor.snaptime += 4 * one_second;
        processor.user_ticks += 1 * ticks_per_s;
        processor.idle_ticks += 2 * ticks_per_s;
        processor.wait_ticks += 1 * ticks_per_s;
        processor.dtrace_ns += one_second;
        processor.characters_in += 10;
    }
    const ProcessorFigures f = processor_figures(&before, now, {});
    EXPECT_DOUBLE_EQ(f.user, 25);
    EXPECT_DOUBLE_EQ(f.system, 0);
    EXPECT_DOUBLE_EQ(f.idle, 50);  // the wait is in the total, but in no other figure
    EXPECT_DOUBLE_EQ(f.dtrace, 25);
    EXPECT_DOUBLE_EQ(f.characters_in, 5);
    Options counts;
    counts.counts = true;
    EXPECT_DOUBLE_EQ(processor_figures(&before, now, counts).characters_in, 20);
}

TEST(IostatProcessors, WithoutTicksTheIntervalAskedForIsTheTerminalsClock) {
    const Processors before = two_processors();
    Processors now = before;
    now[0].characters_in += 10;
    Options options;
    EXPECT_DOUBLE_EQ(processor_figures(&before, now, options).characters_in, 10);
    options.interval_s = 5;
    const ProcessorFigures f = processor_figures(&before, now, options);
    EXPECT_DOUBLE_EQ(f.characters_in, 2);
    EXPECT_EQ(f.user + f.system + f.dtrace + f.idle, 0);
}

TEST(IostatProcessors, WithoutProcessorsEverythingIsZero) {
    const ProcessorFigures f = processor_figures(nullptr, {}, {});
    EXPECT_EQ(f.user + f.system + f.dtrace + f.idle + f.characters_in + f.characters_out, 0);
}

TEST(IostatProcessors, ComingAndGoingIsTold) {
    const Processors two = two_processors();
    Processors other = two;
    other[0].id = 3;
    other[1].id = 5;
    EXPECT_TRUE(same_processors(two, two));
    EXPECT_FALSE(same_processors(two, other));
    EXPECT_FALSE(same_processors(two, {}));
    EXPECT_EQ(processor_changes(two, two), Changes{});
    EXPECT_EQ(processor_changes(two, other),
              (Changes{"processors removed: 0, 1", "processors added: 3, 5"}));
}

}  // namespace
}  // namespace blkscope::iostat
