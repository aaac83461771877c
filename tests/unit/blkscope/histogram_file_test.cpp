// The histograms of iostat -j and of fio's json+, as distributions.
#include "tools/blkscope/histogram_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../failure.hpp"

namespace blkscope {
namespace {

std::string shown(const model::Histogram& histogram) {
    std::string text;
    for (const auto& bucket : histogram.buckets) {
        text += std::to_string(static_cast<int64_t>(bucket.from_ns)) + "-" +
                std::to_string(static_cast<int64_t>(bucket.to_ns)) + ":" +
                std::to_string(bucket.count) + " ";
    }
    return text;
}

std::string failure(const std::string& text, std::string_view operation = "read") {
    return failure_of([&] { return parse_histogram(text, operation); });
}

constexpr const char* fio = R"({"jobs": [
  {"read": {"clat_ns": {"bins": {"100": 3, "1032": 2}}},
   "write": {"clat_ns": {"bins": {"100": 1, "14272": 1}}},
   "sync": {"lat_ns": {"bins": {"127": 9}}}},
  {"read": {"clat_ns": {"bins": {"100": 4}}}, "write": {"clat_ns": {"N": 0}}}]})";

TEST(HistogramFile, AddsTheBinsOfFiosJobs) {
    EXPECT_EQ(shown(parse_histogram(fio, "read")), "100-101:7 1024-1040:2 ");
    EXPECT_EQ(shown(parse_histogram(fio, "write")), "100-101:1 14208-14336:1 ");
    EXPECT_EQ(shown(parse_histogram(fio, "flush")), "127-128:9 ");
    EXPECT_EQ(shown(parse_histogram(fio, "all")), "100-101:8 1024-1040:2 14208-14336:1 ");
}

TEST(HistogramFile, ABinOfFioBeyondAllTimesIsNoBinOfZero) {
    const auto bin = [](const std::string& name) {
        return R"({"jobs": [{"read": {"clat_ns": {"bins": {")" + name + R"(": 1}}}}]})";
    };
    EXPECT_EQ(failure(bin("18446744073709551616")),
              "fio's bin '18446744073709551616' is no number");
    const model::Histogram last = parse_histogram(bin("18446744073709551615"), "read");
    EXPECT_EQ(last.buckets.front().to_ns, 0x1p64);
}

constexpr const char* iostat =
    R"({"devices": [{"histograms": {"read_service": {"bounds": [1000, 2000], "counts": [1, 2, 3]},)"
    R"( "write_service": null, "write_zeroes_service": {"bounds": [5], "counts": [1, 0]}}}]})"
    "\n"
    R"({"devices": [{"histograms": null}, {"histograms": {"read_service": )"
    R"({"bounds": [1000, 2000], "counts": [1, 0, 0]}}}]})"
    "\n";

TEST(HistogramFile, AddsTheServiceTimesOfIostatsReports) {
    EXPECT_EQ(shown(parse_histogram(iostat, "read")), "0-1000:2 1000-2000:2 2000-3000:3 ");
    EXPECT_EQ(shown(parse_histogram(iostat, "zeroes")), "0-5:1 ");
    EXPECT_EQ(shown(parse_histogram(iostat, "all")), "0-1000:2 1000-2000:2 2000-3000:3 ");
}

TEST(HistogramFile, AFileThatIsNoneIsRefusedInOneLine) {
    EXPECT_EQ(failure(""), "it has no times of 'read'");
    EXPECT_EQ(failure("hello"), "it is no JSON");
    EXPECT_EQ(failure("{}"), "it is neither of iostat -j nor fio's json+");
    EXPECT_EQ(failure("[1, 2]"), "it is neither of iostat -j nor fio's json+");
    EXPECT_EQ(failure(fio, "trim"), "it has no times of 'trim'");
    EXPECT_EQ(failure(R"({"jobs": 5})"), "fio's jobs are no array");
    EXPECT_EQ(failure(R"({"jobs": [{"read": {"clat_ns": {"bins": {"x": 1}}}}]})"),
              "fio's bin 'x' is no number");
    EXPECT_EQ(failure(R"({"jobs": [{"read": {"clat_ns": {"bins": {"5": -1}}}}]})"),
              "a count is no whole number");
    const auto bad = [](const char* histogram) {
        return failure(std::string(R"({"devices": [{"histograms": {"read_service": )") + histogram +
                       "}}]}");
    };
    EXPECT_EQ(bad(R"({"bounds": [1], "counts": [1]})"),
              "a histogram's bounds and counts do not fit");
    EXPECT_EQ(bad(R"({"bounds": [2, 1], "counts": [1, 1, 1]})"),
              "a histogram's bounds do not ascend");
}

TEST(HistogramFile, CountsThatOverflowAndDeepTextsAreRefused) {
    const std::string line =
        R"({"devices": [{"histograms": {"read_service": {"bounds": [1], "counts": [COUNT, 0]}}}]})";
    const auto with = [&](const char* count) {
        std::string text = line;
        return text.replace(text.find("COUNT"), 5, count) + "\n";
    };
    EXPECT_EQ(failure(with("18446744073709551615") + with("2")), "its counts are too large");
    constexpr size_t depth = BLKSCOPE_SANITIZED ? 200'000 : 2'000'000;
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(failure(deep), "it is no JSON");
}

TEST(HistogramFile, AnErrorNamesTheFile) {
    const std::string file = testing::TempDir() + "histogram_file_test.json";
    std::ofstream(file) << "{}";
    EXPECT_EQ(failure_of([&] { return read_histogram(file, "read"); }),
              "histogram file '" + file + "': it is neither of iostat -j nor fio's json+");
    std::filesystem::remove(file);
    EXPECT_THROW(static_cast<void>(read_histogram(file, "read")), std::system_error);
}

// Without a writer, a FIFO would keep the reader waiting for ever.
TEST(HistogramFile, WhatIsNoFileIsRefusedAtOnce) {
    const std::string fifo = testing::TempDir() + "histogram_file_test.fifo";
    std::filesystem::remove(fifo);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    for (const std::string& file : {fifo, testing::TempDir(), std::string("/dev/zero")}) {
        EXPECT_EQ(failure_of([&] { return read_histogram(file, "read"); }),
                  "histogram file '" + file + "': it is no file");
    }
    std::filesystem::remove(fifo);
}

}  // namespace
}  // namespace blkscope
