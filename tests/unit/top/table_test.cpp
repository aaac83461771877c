#include "tools/top/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "looks.hpp"
#include "tools/iostat/columns.hpp"

namespace blkscope::top {
namespace {

constexpr double iostat::Figures::*column_b = &iostat::Figures::b_percent;

TEST(TopTable, PercentagesEndAtAHundredInPrintOnly) {
    iostat::Figures figures{};
    figures.w_percent = 100.4;
    figures.b_percent = 101;
    figures.actv = 101;
    EXPECT_EQ(printed(figures).w_percent, 100);
    EXPECT_EQ(printed(figures).b_percent, 100);
    EXPECT_EQ(printed(figures).actv, 101);
    EXPECT_EQ(figures.b_percent, 101);
}

TEST(TopTable, ThresholdsHaveTwoSteps) {
    iostat::Figures figures{};
    figures.b_percent = 79;
    EXPECT_EQ(threshold(column_b, figures), Role::plain);
    figures.b_percent = 80;
    EXPECT_EQ(threshold(column_b, figures), Role::warning);
    figures.b_percent = 95;
    EXPECT_EQ(threshold(column_b, figures), Role::critical);
}

TEST(TopTable, AQueueThatIsLongerThanWhatIsServedIsAlarming) {
    constexpr double iostat::Figures::*column_wait = &iostat::Figures::wait;
    iostat::Figures figures{};
    figures.actv = 8;
    figures.wait = 7;
    EXPECT_EQ(threshold(column_wait, figures), Role::plain);
    figures.wait = 8;
    EXPECT_EQ(threshold(column_wait, figures), Role::warning);
    figures.wait = 32;
    EXPECT_EQ(threshold(column_wait, figures), Role::critical);
    figures.actv = 0.01;
    figures.wait = 0.5;  // too short a queue
    EXPECT_EQ(threshold(column_wait, figures), Role::plain);
}

// The rows of a table with this number of columns, for one device that had reads.
std::vector<std::string> rows(int columns, Style style = {}) {
    DeviceLook nbd0 = idle_look("nbd0");
    Model model;
    model.take(look_at(first_look, {nbd0}));
    do_reads(nbd0, 99, 0, 10'000'000);
    model.take(look_at(first_look + one_second, {nbd0}));
    Screen screen({.columns = columns, .rows = 2});
    draw_table(screen, {.top = 0, .rows = 2}, sorted_devices(model, SortKey::name), 0, style);
    return {screen.row_text(0), screen.row_text(1)};
}

TEST(TopTable, ItsColumnsAreThoseOfIostat) {
    EXPECT_EQ(rows(80)[0],
              "    r/s    w/s   kr/s   kw/s wait actv   wsvc_t   asvc_t  %w  %b device");
}

TEST(TopTable, WithoutColorsThresholdsAreMarked) {
    EXPECT_EQ(rows(80)[1], ">  99.0    0.0  396.0    0.0  0.0  1.0    0.000   10.000+  0  99!nbd0");
    EXPECT_EQ(rows(80, {.utf8 = true, .color = true})[1],
              ">  99.0    0.0  396.0    0.0  0.0  1.0    0.000   10.000   0  99 nbd0");
}

TEST(TopTable, ColumnsGoUntilTheNameHasRoom) {
    EXPECT_EQ(rows(40)[0], " wait actv   wsvc_t   asvc_t  %b device");
    EXPECT_EQ(rows(16)[0], "   asvc_t device");
    EXPECT_EQ(rows(10)[0], " device");
    EXPECT_EQ(rows(4)[0], " dev");
}

// iostat may get another column: the table then has it, and the ranked columns are omitted later.
TEST(TopTable, AColumnThatIsNotRankedIsOmittedFirst) {
    iostat::Options options = column_options();
    options.percentiles = true;
    const auto columns = iostat::shown_figures(options);
    ASSERT_EQ(columns.size(), 16U);
    const std::vector<size_t> order = omission_order(columns);
    ASSERT_EQ(order.size(), columns.size());
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(order[i], 10 + i);
    EXPECT_EQ(columns[order[6]], &iostat::Figures::data_written);
    EXPECT_EQ(columns[order[15]], &iostat::Figures::asvc_t);
}

TEST(TopTable, EachColumnOfItsOwnIsOmittedOnce) {
    const auto columns = iostat::shown_figures(column_options());
    std::vector<size_t> order = omission_order(columns);
    EXPECT_EQ(columns[order.front()], &iostat::Figures::data_written);
    std::ranges::sort(order);
    for (size_t i = 0; i < columns.size(); ++i) EXPECT_EQ(order[i], i);
}

TEST(TopTable, AFigureWithoutLimitsIsPlain) {
    iostat::Figures figures{};
    figures.wait_p99 = 1e9;
    EXPECT_EQ(threshold(&iostat::Figures::wait_p99, figures), Role::plain);
}

TEST(TopTable, TheSelectedDeviceIsAmongThoseShown) {
    Model model;
    std::vector<DeviceLook> devices;
    for (int i = 0; i < 20; ++i) devices.push_back(idle_look("nbd" + std::to_string(i)));
    model.take(look_at(first_look, devices));
    for (size_t selected = 0; selected < devices.size(); ++selected) {
        Screen screen({.columns = 80, .rows = 6});
        draw_table(screen, {.top = 0, .rows = 6}, sorted_devices(model, SortKey::name), selected,
                   {});
        int marked = 0;
        for (int y = 1; y < 6; ++y) {
            const std::string row = screen.row_text(y);
            EXPECT_NE(row, "");
            if (!row.starts_with('>')) continue;
            ++marked;
            EXPECT_TRUE(row.ends_with(" nbd" + std::to_string(selected))) << row;
        }
        EXPECT_EQ(marked, 1);
    }
}

}  // namespace
}  // namespace blkscope::top
