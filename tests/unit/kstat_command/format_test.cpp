#include "tools/kstat/format.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace blkscope::kstat_command {
namespace {

Chosen all_of(const Reading& kstat) {
    Chosen chosen;
    for (const Statistic& statistic : kstat.statistics) chosen.push_back(&statistic);
    return chosen;
}

const Reading pages{.module = "unix",
                    .instance = 0,
                    .name = "system_pages",
                    .kstat_class = "pages",
                    .type = KSTAT_TYPE_NAMED,
                    .snaptime = 6'573'953'839'578'970,
                    .statistics = {{"availrmem", uint64_t{343'567}},
                                   {"crtime", Moment{0}},
                                   {"snaptime", Moment{6'573'953'839'578'970}}}};

TEST(KstatFormat, ABlockHasAHeaderOfTwoLinesAndEndsWithAnEmptyOne) {
    std::string out;
    append_block(out, pages, all_of(pages));
    EXPECT_EQ(out,
              "module: unix                            instance: 0     \n"
              "name:   system_pages                    class:    pages\n"
              "\tavailrmem                       343567\n"
              "\tcrtime                          0\n"
              "\tsnaptime                        6573953.839578970\n"
              "\n");
}

TEST(KstatFormat, NamesOfFullLengthMoveNothing) {
    const std::string full(30, 'x');
    const Reading kstat{.module = full,
                        .instance = -1'000'000,
                        .name = full,
                        .kstat_class = full,
                        .statistics = {{full, int64_t{-1}}}};
    std::string out;
    append_block(out, kstat, all_of(kstat));
    EXPECT_EQ(out, "module: " + full + "  instance: -1000000\nname:   " + full +
                       "  class:    " + full + "\n\t" + full + "  -1\n\n");
}

TEST(KstatFormat, LinesAreForPrograms) {
    const auto lines = [](Format format) {
        std::string out;
        append_lines(out, format, pages, all_of(pages));
        return out;
    };
    EXPECT_EQ(lines(Format::tabs),
              "unix:0:system_pages:availrmem\t343567\n"
              "unix:0:system_pages:crtime\t0\n"
              "unix:0:system_pages:snaptime\t6573953.839578970\n");
    EXPECT_EQ(lines(Format::colons),
              "unix:0:system_pages:availrmem:343567\n"
              "unix:0:system_pages:crtime:0\n"
              "unix:0:system_pages:snaptime:6573953.839578970\n");
    EXPECT_EQ(lines(Format::names),
              "unix:0:system_pages:availrmem\n"
              "unix:0:system_pages:crtime\n"
              "unix:0:system_pages:snaptime\n");
}

TEST(KstatFormat, MomentsAreSecondsToTheNanosecond) {
    EXPECT_EQ(value_text(Moment{0}), "0");
    EXPECT_EQ(value_text(Moment{1}), "0.000000001");
    EXPECT_EQ(value_text(Moment{-1'500'000'000}), "-1.500000000");
    EXPECT_EQ(value_text(Moment{std::numeric_limits<hrtime_t>::max()}), "9223372036.854775807");
    EXPECT_EQ(value_text(Moment{std::numeric_limits<hrtime_t>::min()}), "-9223372036.854775808");
}

TEST(KstatFormat, TextsAreAsTheyAreAndANullIsSaidToBeOne) {
    EXPECT_EQ(value_text(Text("a \"b\"")), "a \"b\"");
    EXPECT_EQ(value_text(Text("")), "");
    EXPECT_EQ(value_text(Text()), "(null)");
}

}  // namespace
}  // namespace blkscope::kstat_command
