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
    EXPECT_EQ(failure(""), "it is empty");
    EXPECT_EQ(failure("hello"), "it has no JSON: no line begins with '{'");
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

std::string fio_report(const std::string& parts, const std::string& more = "") {
    return "{\n  \"fio version\" : \"fio-3.33\"," + more +
           "\n  \"jobs\" : [ { \"jobname\": \"j\", " + parts + " } ]\n}\n";
}
constexpr const char* read_bins =
    R"("read": {"total_ios": 2, "clat_ns": {"N": 2, "bins": {"1000": 2}}})";

// As fio 3.33 writes them with Ctrl-C, and with --output-format=normal,json+ around.
TEST(HistogramFile, LinesAroundTheJsonAreLeftOut) {
    const std::string plain = fio_report(read_bins);
    for (const std::string& text :
         {"\nfio: terminating on signal 2\n" + plain, "\xef\xbb\xbf" + plain,
          "j: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33\nStarting 1 process\n" + plain +
              "\n\nj: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=499, BW=1999KiB/s\n"}) {
        EXPECT_EQ(shown(parse_histogram(text, "read")), "1000-1008:2 ") << text;
    }
}

// Each report of --status-interval has all requests of the run so far.
TEST(HistogramFile, ReportsOfOneRunAreNotAddedUp) {
    const auto report = [](int at, int elapsed, int ios) {
        const std::string count = std::to_string(ios);
        return fio_report("\"elapsed\": " + std::to_string(elapsed) +
                              ", \"read\": {\"total_ios\": " + count +
                              ", \"clat_ns\": {\"bins\": {\"100\": " + count + "}}}",
                          "\"timestamp\": " + std::to_string(at) + ",");
    };
    const std::string first = report(1'795'934'781, 2, 441) + report(1'795'934'782, 3, 940) +
                              report(1'795'934'783, 4, 1439) + report(1'795'934'783, 4, 1500);
    EXPECT_EQ(shown(parse_histogram(first, "read")), "100-101:1500 ");
    const std::string second = report(1'795'934'800, 4, 3000);
    EXPECT_EQ(shown(parse_histogram(first + second, "read")), "100-101:4500 ");
}

// Two runs of a second each, one behind the other in one file: fio counts whole seconds.
TEST(HistogramFile, ShortRunsOfOneJobAreAddedUp) {
    const auto report = [](int at, const std::string& bins) {
        return fio_report(
            "\"elapsed\": 1, \"read\": {\"total_ios\": 5, \"clat_ns\": {\"bins\": {" + bins + "}}}",
            "\"timestamp\": " + std::to_string(at) + ",");
    };
    const std::string both =
        report(1'795'934'781, "\"100\": 5") + report(1'795'934'782, "\"100\": 4, \"101\": 1");
    EXPECT_EQ(shown(parse_histogram(both, "read")), "100-101:9 101-102:1 ");
}

TEST(HistogramFile, ReadsWhatFiosOptionsMakeOfAReport) {
    const std::string lat =
        fio_report(R"("read": {"clat_ns": {"N": 2}, "lat_ns": {"bins": {"100": 2}}})");
    EXPECT_EQ(shown(parse_histogram(lat, "read")), "100-101:2 ");
    const std::string both =
        fio_report(R"("read": {"clat_ns": {"bins": {"100": 2}}, "lat_ns": {"bins": {"120": 2}}})");
    EXPECT_EQ(shown(parse_histogram(both, "read")), "100-101:2 ");
    const std::string mixed = fio_report(R"("mixed": {"clat_ns": {"bins": {"100": 5}}})");
    EXPECT_EQ(shown(parse_histogram(mixed, "all")), "100-101:5 ");
    EXPECT_EQ(failure(mixed),
              "it has no times of 'read'; fio mixed reads, writes and trims "
              "(unified_rw_reporting), so they are of 'all' only");
    const std::string twice =
        fio_report(std::string(read_bins) + R"(, "mixed": {"clat_ns": {"bins": {"1000": 2}}})");
    EXPECT_EQ(shown(parse_histogram(twice, "all")),
              shown(parse_histogram(fio_report(read_bins), "read")));
    EXPECT_EQ(
        failure(fio_report(R"("read": {"clat_ns": {"N": 2}})")),
        "it has no times of 'read'; fio wrote no bins: they come of --output-format=json+, and "
        "not with clat_percentiles=0");
    const std::string remote =
        R"({"client_stats": [{"jobname": "j", "read": {"clat_ns": {"bins": {"100": 2}}}},)"
        R"({"jobname": "All clients", "read": {"clat_ns": {"bins": {"100": 2}}}}]})";
    EXPECT_EQ(shown(parse_histogram(remote, "read")), "100-101:2 ");
    EXPECT_EQ(failure(R"({"devices": [{"histograms": null}]})"),
              "it has no times of 'read'; iostat wrote no histograms: they come of -j -L");
}

TEST(HistogramFile, AnErrorOfTheJsonHasItsLine) {
    EXPECT_EQ(failure("fio-3.33\n{\n\"jobs\": [}]\n}\n"), "line 3: it is no JSON");
    EXPECT_EQ(failure("a line\n{\"jobs\": [\n"),
              "line 2: the JSON that begins here has no end; was it cut off?");
    EXPECT_EQ(failure(std::string("{\0\"\0", 4)), "it is a text in UTF-16; save it as UTF-8");
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
    EXPECT_EQ(failure(deep), "line 1: the JSON that begins here is nested too deeply");
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
                  file + (file == fifo          ? ": it is a pipe"
                          : file == "/dev/zero" ? ": it is a device"
                                                : ": it is a directory"));
    }
    std::filesystem::remove(fifo);
}

}  // namespace
}  // namespace blkscope
