#include "tools/top/history.hpp"

#include <gtest/gtest.h>

namespace blkscope::top {
namespace {

Column column_of(hrtime_t elapsed_ns) {
    Column column;
    column.elapsed_ns = elapsed_ns;
    return column;
}

TEST(TopHistory, TheNewestIsNoneAgo) {
    History history;
    for (const hrtime_t elapsed : {1, 2, 3}) history.add(column_of(elapsed));
    EXPECT_EQ(history.size(), 3u);
    EXPECT_EQ(history.ago(0).elapsed_ns, 3);
    EXPECT_EQ(history.ago(2).elapsed_ns, 1);
}

TEST(TopHistory, TheOldestGoesWhenItIsFull) {
    History history;
    const size_t added = History::columns_max + 5;
    for (size_t i = 0; i < added; ++i) history.add(column_of(static_cast<hrtime_t>(i)));
    EXPECT_EQ(history.size(), History::columns_max);
    EXPECT_EQ(history.ago(0).elapsed_ns, static_cast<hrtime_t>(added - 1));
    EXPECT_EQ(history.ago(History::columns_max - 1).elapsed_ns, 5);
}

}  // namespace
}  // namespace blkscope::top
