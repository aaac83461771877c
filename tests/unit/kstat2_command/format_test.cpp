#include "tools/kstat2/format.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/kstat2/histogram.hpp"
#include "tools/kstat2/report.hpp"

namespace blkscope::kstat2_command {
namespace {

Reading device() {
    Reading reading;
    reading.uri = "kstat:/disk/x/y";
    reading.desc = "a device";
    reading.metatype = KSTAT2_MT_IO;
    reading.crtime = 5;
    reading.snaptime = 6;
    reading.statistics = {
        {"nread", uint64_t{2048}, {KSTAT2_NVMT_BYTES, 0, 1, "bytes read"}},
        {"flags", uint64_t{17}, {KSTAT2_NVMT_FLAGS}},
        {"names", std::vector<std::string>{"a", "b\n"}, {}},
        {"sizes", std::vector<uint64_t>{}, {}},
        {"sensor", {}, {KSTAT2_NVMT_TEMP_C}},
        {"snaptime", uint64_t{6}, {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, 1'000'000'000}},
    };
    return reading;
}

Reading histogram(uint64_t type, uint64_t min, uint64_t max, uint64_t step,
                  std::vector<uint64_t> counts) {
    Reading reading;
    reading.uri = "kstat:/misc/x/hist";
    reading.metatype = KSTAT2_MT_HIST;
    reading.statistics = {{"buckets", std::move(counts), {KSTAT2_NVMT_BYTES}},
                          {"type", type, {}},
                          {"range_min", min, {}},
                          {"range_max", max, {}},
                          {"stepping", step, {}}};
    return reading;
}

TEST(Kstat2Format, BlocksShowRawNumbers) {
    std::string out;
    append_block(out, {}, device());
    EXPECT_EQ(out,
              "kstat:/disk/x/y\n"
              "        nread                           2048\n"
              "        flags                           0x11\n"
              "        names                           [a,b\\012]\n"
              "        sizes                           []\n"
              "        sensor                          -\n"
              "        snaptime                        6\n"
              "\n");
}

TEST(Kstat2Format, BlocksShowUnitsMetadataAndDescriptionsIfAsked) {
    Options options;
    options.scaled = options.metadata = options.descriptions = true;
    Reading reading = device();
    reading.statistics.resize(1);
    reading.flags = KSTAT2_MAPF_DORM;
    reading.metaflags = KSTAT2_MF_STABLE | KSTAT2_MF_PRIV;
    std::string out;
    append_block(out, options, reading);
    EXPECT_EQ(out,
              "kstat:/disk/x/y  (dormant)  [io,stable,priv]\n"
              "        a device\n"
              "        nread                           2 KiB  [bytes,1]  (bytes read)\n"
              "\n");
}

TEST(Kstat2Format, LinesAreForPrograms) {
    Options options;
    Reading reading = device();
    reading.statistics.resize(2);
    std::string out;
    options.format = Format::tabs;
    append_lines(out, options, reading);
    EXPECT_EQ(out, "kstat:/disk/x/y:nread\t2048\nkstat:/disk/x/y:flags\t17\n");
    out.clear();
    options.metadata = true;
    append_lines(out, options, reading);
    EXPECT_EQ(out, "kstat:/disk/x/y:nread\t2048\tbytes,1\nkstat:/disk/x/y:flags\t17\tflags,1\n");
    out.clear();
    options = {};
    options.format = Format::names;
    append_lines(out, options, reading);
    EXPECT_EQ(out, "kstat:/disk/x/y:nread\nkstat:/disk/x/y:flags\n");
}

TEST(Kstat2Format, JsonHoldsWhatThereIs) {
    Options options;
    options.format = Format::json;
    options.stamp = Stamp::epoch;
    const auto json = nlohmann::json::parse(report(options, {device(), device()}, 77));
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[0], nlohmann::json::parse(R"({
        "uri": "kstat:/disk/x/y", "time": 77, "snaptime": 6, "crtime": 5, "desc": "a device",
        "metatype": "io", "flags": [],
        "data": {"nread": 2048, "flags": 17, "names": ["a", "b\n"], "sizes": [], "sensor": null},
        "meta": {
            "nread": {"type": "bytes", "flags": [], "scale": 1, "desc": "bytes read"},
            "flags": {"type": "flags", "flags": [], "scale": 1, "desc": ""},
            "names": {"type": "unk", "flags": [], "scale": 1, "desc": ""},
            "sizes": {"type": "unk", "flags": [], "scale": 1, "desc": ""},
            "sensor": {"type": "temp_c", "flags": [], "scale": 1, "desc": ""}
        }})"));
}

TEST(Kstat2Format, NothingIsAnEmptyArrayOrNothing) {
    Options options;
    EXPECT_EQ(report(options, {}, 0), "");
    options.format = Format::json;
    EXPECT_EQ(report(options, {}, 0), "[]\n");
    options.format = Format::quiet;
    EXPECT_EQ(report(options, {device()}, 0), "");
}

TEST(Kstat2Histogram, HasARowFromTheFirstToTheLastThatIsFilled) {
    const auto drawn = draw_histogram(
        histogram(KSTAT2_NVHIST_LOG10_LIN, 3, 3, 5, {0, 3, 0, 1, 0, 0, 0}), "> ", true);
    ASSERT_TRUE(drawn);
    EXPECT_EQ(*drawn,
              ">    1000 B – 1.952 KiB | ######################################## |          3 |"
              "  75.00 %\n"
              "> 1.953 KiB – 3.905 KiB |                                          |          0 |"
              "  75.00 %\n"
              "> 3.906 KiB – 5.858 KiB | #############                            |          1 |"
              " 100.00 %\n");
}

TEST(Kstat2Histogram, HasBoundsAsPublishedUnlessUnitsAreAskedFor) {
    Reading reading = histogram(KSTAT2_NVHIST_LOG2, 0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4});
    reading.statistics[0].meaning = {KSTAT2_NVMT_T_ACC, KSTAT2_NVMF_FRACT, 1'000'000'000};
    const std::string bar = " | ######################################## |          4 | 100.00 %\n";
    EXPECT_EQ(draw_histogram(reading, "", false), "1024 – 2047" + bar);
    EXPECT_EQ(draw_histogram(reading, "", true), "1.024 us – 2.047 us" + bar);
    std::string out;
    append_block(out, {}, reading);
    EXPECT_NE(out.find("        1024 – 2047 | "), std::string::npos) << out;
    reading.statistics[0].meaning = {KSTAT2_NVMT_ADDR};
    EXPECT_EQ(draw_histogram(reading, "", false), "0x400 – 0x7ff" + bar);
}

TEST(Kstat2Histogram, HasALastBucketWithoutAnEnd) {
    const auto drawn =
        draw_histogram(histogram(KSTAT2_NVHIST_LINEAR, 0, 2, 2, {0, 0, 9}), "", true);
    ASSERT_TRUE(drawn);
    EXPECT_EQ(*drawn,
              "2 B – inf | ######################################## |          9 | 100.00 %\n");
}

TEST(Kstat2Histogram, SaysSoIfNothingWasCounted) {
    EXPECT_EQ(draw_histogram(histogram(KSTAT2_NVHIST_LINEAR, 0, 0, 5, {}), "> ", false),
              "> nothing counted yet\n");
}

TEST(Kstat2Histogram, IsNotDrawnWhereItsShapeMakesNoSense) {
    const std::vector<uint64_t> counts{1, 2};
    EXPECT_FALSE(draw_histogram(device(), "", false));
    EXPECT_FALSE(draw_histogram(histogram(KSTAT2_NVHIST_LINEAR, 0, 10, 3, counts), "", false));
    EXPECT_FALSE(draw_histogram(histogram(4, 0, 0, 0, counts), "", false));
    EXPECT_FALSE(draw_histogram(
        histogram(KSTAT2_NVHIST_LOG2, 0, 0, 0, std::vector<uint64_t>(66, 1)), "", false));
    Reading invalid = histogram(KSTAT2_NVHIST_LOG2, 0, 0, 0, counts);
    invalid.statistics[0].value = {};
    EXPECT_FALSE(draw_histogram(invalid, "", false));
}

}  // namespace
}  // namespace blkscope::kstat2_command
