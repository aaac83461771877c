#include "tools/gstat/report.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "devstat/entries/bintime.hpp"

namespace blkscope::gstat {
namespace {

constexpr hrtime_t ms = 1'000'000;

/// A device over 200 ms. There are 20 reads of 4 KiB and 10 writes of 16 KiB. Two deletes
/// of 1 MiB and a flush follow.
class GstatReport : public testing::Test {
  protected:
    GstatReport() {
        setenv("TZ", "UTC", 1);
        tzset();
        before_.uptime = 1000 * ms;
        now_.uptime = 1200 * ms;
        now_.when = {1'000'000'000, 5};
        Device device{1, "vbd0", false, {}};
        before_.devices.push_back(device);
        Devstat& d = device.entry;
        d.creation_time = devstat::bintime_of(1100 * ms);
        d.start_count = 36;
        d.end_count = 33;
        d.operations[DEVSTAT_READ] = 20;
        d.bytes[DEVSTAT_READ] = 20 * 4096;
        d.duration[DEVSTAT_READ] = devstat::bintime_of(40 * ms);
        d.operations[DEVSTAT_WRITE] = 10;
        d.bytes[DEVSTAT_WRITE] = 10 * 16384;
        d.duration[DEVSTAT_WRITE] = devstat::bintime_of(11'270 * ms);
        d.operations[DEVSTAT_FREE] = 2;
        d.bytes[DEVSTAT_FREE] = 2 << 20;
        d.duration[DEVSTAT_FREE] = devstat::bintime_of(20 * ms);
        d.operations[DEVSTAT_NO_DATA] = 1;
        d.duration[DEVSTAT_NO_DATA] = devstat::bintime_of(3 * ms);
        d.busy_time = devstat::bintime_of(50 * ms);
        now_.devices.push_back(device);
    }

    void add(int identity, const char* name, bool is_partition) {
        now_.devices.push_back({identity, name, is_partition, {}});
    }

    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> texts;
        for (const Line& line : lines(options_, Filter(options_.filter), before_, now_)) {
            texts.push_back(line.text());
        }
        return texts;
    }

    [[nodiscard]] std::string csv() const {
        return csv_lines(options_, Filter(options_.filter), before_, now_);
    }

    Options options_;
    Snapshot before_;
    Snapshot now_;
};

using Texts = std::vector<std::string>;

TEST_F(GstatReport, HasTheColumnsOfFreeBsd) {
    EXPECT_EQ(header(options_),
              " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name");
    EXPECT_EQ(texts(),
              (Texts{"    3    165    100    400    2.0     50    800   1127   25.0  vbd0"}));
}

TEST_F(GstatReport, HasDeletesAndOthersWhereTheyAreAskedFor) {
    options_.deletes = true;
    options_.others = true;
    EXPECT_EQ(
        header(options_),
        " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w    d/s   kBps   ms/d    o/s   "
        "ms/o   %busy Name");
    EXPECT_EQ(texts(),
              (Texts{"    3    165    100    400    2.0     50    800   1127     10  10240 "
                     "  10.0      5    3.0   25.0  vbd0"}));
}

TEST_F(GstatReport, HasTheMeanSizeWhereItIsAskedFor) {
    options_.sizes = true;
    EXPECT_EQ(header(options_),
              " L(q)  ops/s    r/s     kB   kBps   ms/r    w/s     kB   kBps   ms/w   %busy Name");
    EXPECT_EQ(texts(),
              (Texts{"    3    165    100      4    400    2.0     50     16    800   1127 "
                     "  25.0  vbd0"}));
}

TEST_F(GstatReport, TheFirstLineTellsTheTimeAndTheFilter) {
    EXPECT_EQ(first_line(options_, 0.2), "dT: 0.200s  w: 1.000s");
    options_.filter = "vbd.*";
    options_.interval = std::chrono::milliseconds(200);
    EXPECT_EQ(first_line(options_, 0.2), "dT: 0.200s  w: 0.200s  filter: vbd.*");
}

TEST_F(GstatReport, ADeviceThatIsNewCountsFromItsCreation) {
    before_.devices.clear();
    EXPECT_EQ(texts(),
              (Texts{"    3    165    100    400    2.0     50    800   1127   25.0  vbd0"}));
}

// As when another server's device of the same name was there before.
TEST_F(GstatReport, ADeviceThatIsNewHereAndOlderThanTheIntervalIsMeasuredOverItsLife) {
    before_.devices.clear();
    now_.devices[0].entry.creation_time = devstat::bintime_of(200 * ms);
    EXPECT_EQ(texts(),
              (Texts{"    3     33     20     80    2.0     10    160   1127    5.0  vbd0"}));
}

TEST_F(GstatReport, AnEntryInTheMiddleOfAnUpdateIsMarked) {
    now_.devices[0].entry.sequence1 = 1;
    EXPECT_EQ(texts()[0].substr(texts()[0].size() - 6), "* vbd0");
    EXPECT_EQ(csv(), "");
}

TEST_F(GstatReport, BusyIsAtMostAll) {
    now_.devices[0].entry.busy_time = devstat::bintime_of(201 * ms);
    EXPECT_EQ(lines(options_, Filter(""), before_, now_)[0].busy_percent, 100);
}

TEST_F(GstatReport, ShowsOnlyWhatIsAskedFor) {
    add(2, "vbd1", false);
    add(3, "vbd1,1", true);
    EXPECT_EQ(texts().size(), 3u);
    options_.physical_only = true;
    EXPECT_EQ(texts().size(), 2u);
    options_.active_only = true;
    EXPECT_EQ(texts().size(), 1u);
    options_ = {};
    options_.filter = "vbd1";
    EXPECT_EQ(texts().size(), 2u);
}

TEST_F(GstatReport, CsvHasANameForEachValue) {
    options_.deletes = true;
    options_.others = true;
    options_.sizes = true;
    EXPECT_EQ(csv_header(options_),
              "timestamp,name,q-depth,total_ops/s,read/s,read_sz-KiB,read-KiB/s,ms/read,write/s,"
              "write_sz-KiB,write-KiB/s,ms/write,delete/s,delete-sz-KiB,delete-KiB/s,ms/delete,"
              "other/s,ms/other,%busy\n");
    EXPECT_EQ(csv(),
              "2001-09-09 01:46:40.000000005,vbd0,3,165,100,4,400,2.0,50,16,800,1127,10,1024,10240,"
              "10.0,5,3.0,25.0\n");
    options_ = {};
    EXPECT_EQ(csv_header(options_),
              "timestamp,name,q-depth,total_ops/s,read/s,read-KiB/s,ms/read,write/s,write-KiB/s,"
              "ms/write,%busy\n");
    EXPECT_EQ(csv(), "2001-09-09 01:46:40.000000005,vbd0,3,165,100,400,2.0,50,800,1127,25.0\n");
}

}  // namespace
}  // namespace blkscope::gstat
