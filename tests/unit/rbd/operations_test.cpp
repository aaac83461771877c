#include "rbd/operations.hpp"

#include <gtest/gtest.h>

namespace blkscope::rbd {
namespace {

TEST(RbdOperations, ExpireInTheOrderOfTheirAge) {
    Operations operations;
    Buf first;
    Buf second;
    operations.start(first, 10);
    operations.start(second, 20);
    EXPECT_EQ(operations.next_deadline(), 10);
    EXPECT_EQ(operations.expire(9), nullptr);
    EXPECT_EQ(operations.expire(15), &first);
    EXPECT_EQ(operations.expire(15), nullptr);
    EXPECT_EQ(operations.next_deadline(), 20);
    EXPECT_EQ(operations.orphans(), 1u);
    EXPECT_EQ(operations.in_librbd(), 2u);
}

TEST(RbdOperations, KeepTheMemoryOfAnOrphanUntilItHasEnded) {
    Operations operations;
    Buf buf;
    Operation& orphan = operations.start(buf, 10);
    std::byte* const memory = operations.memory_of(orphan, 4096);
    ASSERT_EQ(operations.expire(10), &buf);
    EXPECT_EQ(orphan.buf, nullptr);
    Operation& other = operations.start(buf, 20);
    EXPECT_NE(operations.memory_of(other, 4096), memory);
    operations.end(orphan, 4096);
    EXPECT_EQ(operations.orphans(), 0u);
    Operation& again = operations.start(buf, 30);
    EXPECT_EQ(operations.memory_of(again, 4096), memory);
}

TEST(RbdOperations, GiveTheDeviceItsOwnReadBeforeTheyAreUsedAgain) {
    Operations operations;
    Operation& read = operations.start_awaited();
    operations.end(read, 512);
    EXPECT_EQ(read.result, 512);
    Buf buf;
    EXPECT_NE(&operations.start(buf, 10), &read);
    operations.dismiss(read);
    EXPECT_EQ(operations.orphans(), 0u);
    EXPECT_EQ(&operations.start_awaited(), &read);
    EXPECT_FALSE(read.result);
    operations.dismiss(read);
    EXPECT_EQ(operations.orphans(), 1u);
}

}  // namespace
}  // namespace blkscope::rbd
