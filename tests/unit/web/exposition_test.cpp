#include "tools/web/exposition.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blkscope::web {
namespace {

std::string counter_in(TextFormat format) {
    Exposition text(format);
    text.family("blkscope_reads_completed", Metric::counter, "Reads that ended.");
    text.sample({{"device", "nbd0"}}, "5");
    return text.take();
}

TEST(WebExposition, ACountersFamilyHasItsSuffixInPrometheusOnly) {
    EXPECT_EQ(counter_in(TextFormat::prometheus),
              "# HELP blkscope_reads_completed_total Reads that ended.\n"
              "# TYPE blkscope_reads_completed_total counter\n"
              "blkscope_reads_completed_total{device=\"nbd0\"} 5\n");
    EXPECT_EQ(counter_in(TextFormat::open_metrics),
              "# HELP blkscope_reads_completed Reads that ended.\n"
              "# TYPE blkscope_reads_completed counter\n"
              "blkscope_reads_completed_total{device=\"nbd0\"} 5\n"
              "# EOF\n");
}

TEST(WebExposition, AFamilyWithoutSamplesIsNotThere) {
    Exposition text(TextFormat::prometheus);
    text.family("a", Metric::gauge, "A.");
    text.family("b", Metric::unknown, "B.");
    text.sample({}, "1");
    EXPECT_EQ(text.take(), "# HELP b B.\n# TYPE b untyped\nb 1\n");
}

TEST(WebExposition, ASeriesIsThereOnce) {
    Exposition text(TextFormat::prometheus);
    text.family("a", Metric::gauge, "A.");
    text.sample({{"x", "\xff"}}, "1");
    text.sample({{"x", "\xfe"}}, "2");  // the same, when it is written
    text.family("b", Metric::gauge, "B.");
    text.sample({{"x", "\xff"}}, "3");
    EXPECT_EQ(text.take(),
              "# HELP a A.\n# TYPE a gauge\na{x=\"\xef\xbf\xbd\"} 1\n"
              "# HELP b B.\n# TYPE b gauge\nb{x=\"\xef\xbf\xbd\"} 3\n");
}

TEST(WebExposition, ALabelHoldsAnyBytes) {
    EXPECT_EQ(label_text("a\\b\"c\nd\xc3\xa4"), "a\\\\b\\\"c\\nd\xc3\xa4");
    EXPECT_EQ(label_text(std::string("\0\r\x7f", 3)), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(label_text("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(WebExposition, SecondsAreExact) {
    EXPECT_EQ(seconds_text(0), "0.000000000");
    EXPECT_EQ(seconds_text(1), "0.000000001");
    EXPECT_EQ(seconds_text(12'345'678'901), "12.345678901");
}

TEST(WebExposition, TheFormatIsTheOneThatTheClientPrefers) {
    using enum TextFormat;
    EXPECT_EQ(format_for(""), prometheus);
    EXPECT_EQ(format_for("*/*"), prometheus);
    EXPECT_EQ(format_for("text/plain;version=0.0.4"), prometheus);
    EXPECT_EQ(format_for("application/openmetrics-text"), open_metrics);
    EXPECT_EQ(format_for("APPLICATION/OpenMetrics-Text; Version=\"1.0.0\""), open_metrics);
    EXPECT_EQ(format_for("application/openmetrics-text;version=2.0.0"), prometheus);
    EXPECT_EQ(format_for("application/openmetrics-text; version=1.0.0; q=0.2, text/plain"),
              prometheus);
    // The Accept of Prometheus 2.42.
    EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                         "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
              open_metrics);
    EXPECT_EQ(format_for(";;q=,,=;q=9.9.9,*"), prometheus);
}

}  // namespace
}  // namespace blkscope::web
