#include "blockdev/queue/buf.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace blkscope {
namespace {

Buf running_read(uint32_t bytes) {
    Buf buf;
    buf.op = Buf::Op::read;
    buf.bcount = bytes;
    buf.resid = bytes;
    buf.state = Buf::State::running;
    buf.retries_left = 2;
    return buf;
}

TEST(Buf, AWholeTransferFinishesItWithoutResidue) {
    Buf buf = running_read(4096);
    EXPECT_EQ(buf.absorb(4096), Buf::Next::finish);
    EXPECT_EQ(buf.resid, 0u);
    EXPECT_EQ(buf.error, 0);
    EXPECT_EQ(buf.moved(), 4096u);
}

TEST(Buf, AShortTransferGoesRoundAgainForTheRest) {
    Buf buf = running_read(4096);
    EXPECT_EQ(buf.absorb(1000), Buf::Next::again);
    EXPECT_EQ(buf.resid, 3096u);
    EXPECT_EQ(buf.absorb(3096), Buf::Next::finish);
    EXPECT_EQ(buf.error, 0);
}

TEST(Buf, InterruptionsAreRetriedButNotForEver) {
    Buf buf = running_read(512);
    EXPECT_EQ(buf.absorb(-EINTR), Buf::Next::again);
    EXPECT_EQ(buf.absorb(-EAGAIN), Buf::Next::again);
    EXPECT_EQ(buf.absorb(-EINTR), Buf::Next::finish);
    EXPECT_EQ(buf.error, EINTR);
}

TEST(Buf, AnErrorFinishesItAndKeepsWhatWasMoved) {
    Buf buf = running_read(4096);
    EXPECT_EQ(buf.absorb(512), Buf::Next::again);
    EXPECT_EQ(buf.absorb(-EIO), Buf::Next::finish);
    EXPECT_EQ(buf.error, EIO);
    EXPECT_EQ(buf.moved(), 512u);
}

TEST(Buf, AFileThatEndsEarlyIsAnIoError) {
    Buf buf = running_read(4096);
    EXPECT_EQ(buf.absorb(0), Buf::Next::finish);
    EXPECT_EQ(buf.error, EIO);
}

TEST(Buf, AFlushFinishesWithNothingMoved) {
    Buf buf = running_read(0);
    buf.op = Buf::Op::flush;
    EXPECT_EQ(buf.absorb(0), Buf::Next::finish);
    EXPECT_EQ(buf.error, 0);
}

TEST(Buf, TheSecondStepOfAWriteMovesNothing) {
    Buf buf = running_read(4096);
    buf.op = Buf::Op::write;
    buf.fua = true;
    buf.step = Buf::Step::sync;
    EXPECT_EQ(buf.absorb(-EINTR), Buf::Next::again);
    EXPECT_EQ(buf.absorb(0), Buf::Next::finish);
    EXPECT_EQ(buf.error, 0);
    EXPECT_EQ(buf.resid, 4096u);
}

TEST(BufQueue, GivesBackInTheOrderOfArrival) {
    Buf a;
    Buf b;
    BufQueue queue;
    EXPECT_TRUE(queue.empty());
    queue.push(a);
    queue.push(b);
    EXPECT_EQ(&queue.pop(), &a);
    EXPECT_EQ(&queue.pop(), &b);
    EXPECT_TRUE(queue.empty());
    queue.push(a);
    EXPECT_EQ(&queue.pop(), &a);
}

}  // namespace
}  // namespace blkscope
