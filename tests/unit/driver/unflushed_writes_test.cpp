#include "driver/nbd/client/unflushed_writes.hpp"

#include <gtest/gtest.h>

namespace blkscope::nbd {
namespace {

TEST(UnflushedWrites, AFlushCoversWhatWasAcknowledgedBeforeItWasSent) {
    UnflushedWrites writes;
    EXPECT_FALSE(writes.any());
    writes.acknowledged();
    const uint64_t mark = writes.mark();
    EXPECT_TRUE(writes.any());
    writes.acknowledged();
    writes.flushed(mark);
    EXPECT_TRUE(writes.any());
    writes.flushed(writes.mark());
    EXPECT_FALSE(writes.any());
}

TEST(UnflushedWrites, AnOlderFlushTakesNothingBack) {
    UnflushedWrites writes;
    const uint64_t early = writes.mark();
    writes.acknowledged();
    writes.flushed(writes.mark());
    writes.flushed(early);
    EXPECT_FALSE(writes.any());
}

TEST(UnflushedWrites, ALossIsToldOnce) {
    UnflushedWrites writes;
    writes.acknowledged();
    writes.forget();
    EXPECT_FALSE(writes.any());
    writes.acknowledged();
    EXPECT_TRUE(writes.any());
}

}  // namespace
}  // namespace blkscope::nbd
