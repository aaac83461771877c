// Traces read back from the formats of other programs.
#include "trace/readers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include "base/json_string.hpp"
#include "requests.hpp"
#include "trace/blktrace_event.hpp"
#include "trace/file.hpp"
#include "trace/formats.hpp"

namespace blkscope::trace {
namespace {

Result<Trace, std::string> read(const std::string& file) {
    return decode_any(std::as_bytes(std::span(file)));
}
std::string refusal(const std::string& file) {
    const auto trace = read(file);
    EXPECT_FALSE(trace.has_value());
    return trace ? "" : trace.error();
}

TEST(TraceReaders, ACsvFileReadsBackAsItWas) {
    const Trace trace = trace_of_all();
    const auto again = read(to_csv(trace));
    ASSERT_TRUE(again.has_value()) << again.error();
    EXPECT_EQ(again->requests, trace.requests);
    EXPECT_EQ(again->properties, trace.properties);
    EXPECT_EQ(again->lost, trace.lost);
    EXPECT_EQ(again->realtime_ns, trace.realtime_ns);
}

TEST(TraceReaders, FactsWithAnyMarksReadBack) {
    Trace trace = trace_of_all();
    trace.properties["model"] = "read=empirical:/a;b\\c,\"d\"=\xc3\xa4";
    const auto again = read(to_csv(trace));
    ASSERT_TRUE(again.has_value()) << again.error();
    EXPECT_EQ(again->properties, trace.properties);
    EXPECT_EQ(refusal("op,offset,bytes,received_ns,facts\nread,0,1,1,x\n"),
              "line 2: the facts is \"x\": a fact is not key=value");
    EXPECT_EQ(
        refusal("op,offset,bytes,received_ns,facts\nread,0,1,1,a=1\nread,0,1,2,a=2\n"),
        "line 3: the facts is \"a=2\": another row has other facts; the rows are of two traces");
}

constexpr const char* plain_table =
    "op,offset,bytes,received_ns\nread,0,4096,1000\nwrite,4294967296,512,2000\n";

// As editors, spreadsheets and scripts of other systems write the same table.
TEST(TraceReaders, ATableMayHaveAnyOfTheUsualForms) {
    const auto expected = read(plain_table);
    ASSERT_TRUE(expected.has_value()) << expected.error();
    ASSERT_EQ(expected->requests.at(1).offset, uint64_t{1} << 32);
    const auto with = [](char from, const std::string& to) {
        std::string text;
        for (const char c : std::string(plain_table)) text += c == from ? to : std::string(1, c);
        return text;
    };
    const std::string plain = plain_table;
    const std::vector<std::string> forms{
        "\xef\xbb\xbf" + plain,
        with('\n', "\r\n"),
        with('\n', "\r"),
        with('\n', "\n\n"),
        with('\n', "\n \t\n"),
        with('\n', "\n,,,\n"),
        with('\n', "\n# a comment, of a person\n"),
        "\n\n# by hand\n" + plain,
        with(',', ";"),
        with(',', "\t"),
        with(',', " , "),
        with(',', " \t,"),
        "sep=;\n" + with(',', ";"),
        "sep=,\r\n" + plain,
        plain.substr(0, plain.size() - 1),
        plain + "op,offset,bytes,received_ns\n",
        "OP,Offset,BYTES,Received_NS\nRead,0,4096,1000\nWRITE,4294967296,512,2000\n",
        "op,offset,bytes,received_ns\nread,0.0,4096.0,1000.0\nwrite,4294967296,512,2000\n",
        "op,offset,bytes,received_ns\nread,0,4096,1000,\nwrite,4294967296,512,2000,,\n",
        "\"op\",\"offset\",\"bytes\",\"received_ns\"\n\"read\",\"0\", \"4096\" ,1000\n"
        "\"write\",4294967296,512,\"2000\"\n",
        "op,offset,bytes,received_ns,comment\nread,0,4096,1000,\"two\nlines, \"\"of\"\" it\"\n"
        "write,4294967296,512,2000,\n"};
    for (const std::string& text : forms) {
        const auto trace = read(text);
        ASSERT_TRUE(trace.has_value()) << text << trace.error();
        EXPECT_EQ(trace->requests, expected->requests) << text;
    }
}

TEST(TraceReaders, ATextThatIsNoUtf8IsRefusedByItsName) {
    using namespace std::string_literals;
    std::string wide;
    for (const char* c = plain_table; *c != 0; ++c) wide += {*c, '\0'};
    EXPECT_EQ(refusal("\xff\xfe"s + wide), "a text in UTF-16; save it as UTF-8");
    EXPECT_EQ(refusal(wide), "a text in UTF-16; save it as UTF-8");
    EXPECT_EQ(refusal("\x1f\x8b\x08\0"s), "compressed with gzip; unpack it first");
    EXPECT_EQ(refusal("PK\x03\x04"), "a zip or a spreadsheet; save the table as csv");
    EXPECT_EQ(refusal(""), "empty");
    EXPECT_EQ(refusal(to_json(trace_of_all())),
              "a trace as JSON, which is written only; save it as csv or ours");
}

// A stamp of 0 is unknown, but some arrival is known.
TEST(TraceReaders, AClockMayBeginAt0) {
    const auto trace = read(
        "op,offset,bytes,received_ns,finished_ns\n"
        "read,0,512,5,7\nread,0,512,0,1\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[0].arrival(), 1);
    EXPECT_EQ(trace->requests[1].arrival() - trace->requests[0].arrival(), 5);
    EXPECT_EQ(trace->requests[0].finished - trace->requests[0].arrival(), 1);
    EXPECT_EQ(trace->requests[1].finished - trace->requests[1].arrival(), 2);
}

TEST(TraceReaders, ARowThatIsCutIsLeftOutAndTold) {
    const std::string rows = "op,offset,bytes,received_ns,finished_ns\nread,0,512,1,9\n";
    for (const char* cut : {"read,0", "re", "read,0,512,50,9", "read,0,512,50,\t"}) {
        const auto trace = read(rows + cut);
        ASSERT_TRUE(trace.has_value()) << trace.error();
        const bool is_whole = std::string_view(cut).ends_with('\t');
        EXPECT_EQ(trace->requests.size(), is_whole ? 2u : 1u) << cut;
        EXPECT_EQ(
            trace->notes.front().starts_with("line 3, the last one, is cut off and left out: "),
            !is_whole)
            << trace->notes.front();
    }
}

// Nobody sees whether the last number has all of its digits.
TEST(TraceReaders, ALastRowWithoutAnEndIsTakenAndTold) {
    const std::string rows = "op,offset,bytes,received_ns,finished_ns\nread,0,512,1,9\n";
    const auto trace = read(rows + "read,0,512,50,90");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    EXPECT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->notes.front(),
              "line 3, the last one, has no end: it is taken as it is, and may be cut off");
    EXPECT_EQ(read(rows)->notes.front().find("line"), std::string::npos);
}

TEST(TraceReaders, AFileWithoutRequestsIsToldOf) {
    for (const char* file :
         {"op,offset,bytes,received_ns\n", "fio version 2 iolog\n", "fio version 3 iolog\n"}) {
        const auto trace = read(file);
        ASSERT_TRUE(trace.has_value()) << trace.error();
        EXPECT_EQ(trace->notes, std::vector<std::string>{"the file has no requests"});
    }
}

TEST(TraceReaders, ALogOfFioKeepsTheNameOfItsFile) {
    const auto trace = read("fio version 2 iolog\n/dev/sda add\n/dev/sda read 0 512\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    EXPECT_EQ(to_csv(*trace).find("nbd"), std::string::npos) << to_csv(*trace);
    const auto ours = read("fio version 2 iolog\nnbd3 add\nnbd3 read 0 512\n");
    ASSERT_TRUE(ours.has_value()) << ours.error();
    EXPECT_EQ(ours->requests[0].device, 3u);
    EXPECT_EQ(refusal("fio version 2 iolog\na\x1b[2J read 0 512\n"),
              "line 2: the file's name has control characters");
}

// A missing value is no time 0, which would be the first moment of all.
TEST(TraceReaders, AMissingValueIsUnknown) {
    const std::string head = "op,offset,bytes,received_ns,started_ns,finished_ns\n";
    for (const char* missing :
         {"", "-", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "\\N"}) {
        const std::string none = missing;
        const auto trace = read(head + "read,0,512,1000," + none + "," + none + "\nread,0,512," +
                                none + ",2000,3000\n");
        ASSERT_TRUE(trace.has_value()) << trace.error();
        ASSERT_EQ(trace->requests.size(), 2u);
        EXPECT_EQ(trace->requests[0].received, 1000);
        EXPECT_EQ(trace->requests[0].started, 0);
        EXPECT_EQ(trace->requests[0].finished, 0);
        EXPECT_EQ(trace->requests[1].entered(), 0);
        EXPECT_EQ(trace->requests[1].started, 2000);
        EXPECT_EQ(refusal(head + "read,0,512,1000,,\nread,0,512," + none + "," + none + ",3000\n"),
                  "line 3: there is no time of arrival");
    }
}

TEST(TraceReaders, AMillionRowsAreReadInTheirOrder) {
    constexpr int64_t rows = BLKSCOPE_SANITIZED ? 50'000 : 1'000'000;
    std::string text = "received_ns,op,offset,bytes\n";
    for (int64_t i = rows; i > 0; --i) text += std::to_string(i) + ",read,0,512\n";
    const auto trace = read(text);
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), static_cast<size_t>(rows));
    EXPECT_EQ(trace->requests.front().arrival(), 1);
    EXPECT_EQ(trace->requests.back().arrival(), rows);
}

TEST(TraceReaders, ARowWithoutAnEndIsRefused) {
    const std::string head = "op,offset,bytes,received_ns,comment\nread,0,512,1,";
    EXPECT_EQ(refusal(head + std::string(2 << 20, 'x')), "line 2: longer than 1 MiB");
    EXPECT_EQ(refusal(head + '"' + std::string(2 << 20, 'x')), "line 2: longer than 1 MiB");
    EXPECT_EQ(refusal(head + '"' + std::string(4 << 20, '"')), "line 2: longer than 1 MiB");
    EXPECT_EQ(refusal(head + std::string(2 << 20, ',')), "line 2: longer than 1 MiB");
    EXPECT_EQ(refusal(head + "\"x\nread,0,512,1,y\n"), "line 2: a quote without its end");
    EXPECT_EQ(refusal(head + "\"x\"y\n"), "line 2: field 5: text behind the end of its quotes");
    EXPECT_EQ(refusal(head + '\0' + "\n"), "line 2: it has a zero byte, as no text has");
}

TEST(TraceReaders, OurOwnFileIsReadAsWell) {
    const Trace trace = trace_of_all();
    const auto again = read(encode_file(trace));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->requests, trace.requests);
    EXPECT_EQ(again->properties, trace.properties);
}

TEST(TraceReaders, AHandmadeCsvFileNeedsFewColumns) {
    const auto trace = read(
        "received_ns,op,offset,bytes,comment\r\n"
        "2000,write,4096,512,second\r\n"
        "1000,read,0,4096,first\r\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[0].op, Op::read);
    EXPECT_EQ(trace->requests[0].arrival(), 1000);
    EXPECT_EQ(trace->requests[0].end(), 1000);
    EXPECT_EQ(trace->requests[1].bytes, 512u);
}

TEST(TraceReaders, AnUnknownTimeStaysUnknownAndIsCounted) {
    const auto trace = read(
        "op,offset,bytes,received_ns,queued_ns,started_ns,finished_ns\n"
        "read,0,4096,1000,1100,1200,6000\n"
        "read,4096,4096,2000,2100,2200,0\n"
        "read,8192,4096,3000,3100,0,7000\n"
        "read,12288,4096,4000,0,0,0\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 4u);
    EXPECT_EQ(trace->requests[1].finished, 0);
    EXPECT_EQ(trace->requests[2].started, 0);
    EXPECT_EQ(trace->requests[3].queued, 0);
    EXPECT_EQ(
        trace->notes,
        (std::vector<std::string>{
            "2 of 4 requests have no known end: no figure has how long they took",
            "2 of 4 requests have no known start: no figure has how long they waited and were "
            "served"}));
}

TEST(TraceReaders, AWrongCsvFileIsRefusedWithItsLine) {
    EXPECT_EQ(refusal("op,offset\nread,0\n"), "line 1: no column named bytes");
    EXPECT_EQ(refusal("op,offset,bytes\nread,0,1\n"),
              "line 1: no column named received_ns or queued_ns");
    const std::string head = "op,offset,bytes,received_ns\n";
    const auto why = [&](const std::string& row) { return refusal(head + row + "\n"); };
    EXPECT_EQ(why("read,0,512,1\nread,0"), "line 3: 2 values for 4 columns");
    EXPECT_EQ(refusal(head + "read,0"), "line 2: 2 values for 4 columns; the file may be cut off");
    EXPECT_EQ(why("read,0,512,"), "line 2: there is no time of arrival");
    EXPECT_EQ(why("reed,0,512,1"),
              "line 2: the op is \"reed\": it is none of read, write, flush, trim, write_zeroes, "
              "cache, block_status");
    EXPECT_EQ(why("read,-1,512,1"), "line 2: the offset is \"-1\": it is negative");
    EXPECT_EQ(why("read,,512,1"), "line 2: the offset is \"\": there is no value");
    EXPECT_EQ(why("read,1.5,512,1"), "line 2: the offset is \"1.5\": it has a fraction");
    EXPECT_EQ(why("read,\"1,5\",512,1"),
              "line 2: the offset is \"1,5\": it has a decimal comma, or commas between thousands");
    EXPECT_EQ(why("read,4.29E+09,512,1"),
              "line 2: the offset is \"4.29E+09\": it is in scientific notation, which rounds; "
              "format the column as whole numbers");
    EXPECT_EQ(why("read,18446744073709551616,512,1"),
              "line 2: the offset is \"18446744073709551616\": it is too large");
    EXPECT_EQ(why("read,4K,512,1"), "line 2: the offset is \"4K\": it is no whole number");
    EXPECT_EQ(refusal("op,offset,bytes,received_ns,start_ns\n"),
              "line 1: no column is named \"start_ns\"; the times are received_ns, queued_ns, "
              "started_ns, finished_ns, replied_ns and drawn_ns");
    for (const char* name : {"finished_us", "Started (ms)", "replied"}) {
        EXPECT_TRUE(refusal(std::string("op,offset,bytes,received_ns,") + name + "\n")
                        .starts_with("line 1: no column is named \""))
            << name;
    }
    EXPECT_EQ(refusal("op,op,offset,bytes,received_ns\n"), "line 1: two columns named op");
    EXPECT_EQ(refusal(head + "read,18446744073709551615,2,1\n"),
              "line 2: a request beyond the last address");
}

TEST(TraceReaders, FiosLogsKeepWhatFioHas) {
    Trace trace = trace_of_all();
    std::erase_if(trace.requests, [](const Request& each) { return each.op == Op::trim; });
    const auto three = to_fio3(trace);
    ASSERT_TRUE(three.has_value());
    for (const std::string& log : {*three, to_fio2(trace)}) {
        const auto again = read(log);
        ASSERT_TRUE(again.has_value()) << again.error();
        ASSERT_EQ(again->requests.size(), 4u);  // fio has no cache and no block_status
        EXPECT_EQ(again->requests[0].op, Op::read);
        EXPECT_EQ(again->requests[1].op, Op::write);
        EXPECT_EQ(again->requests[2].op, Op::flush);
        EXPECT_EQ(again->requests[3].op, Op::write);  // zeroes
        EXPECT_EQ(again->requests[1].offset, 8192u);
        EXPECT_EQ(again->requests[1].bytes, 4096u);
    }
    const auto times = read(*three);
    EXPECT_EQ(times->requests[1].arrival() - times->requests[0].arrival(), 1000);
    const auto waits = read("fio version 2 iolog\nd add\nd open\nd wait 5 0\nd read 0 512\n");
    ASSERT_TRUE(waits.has_value());
    EXPECT_EQ(waits->requests[0].arrival(), 5'000'001);
}

// As fio replays it: where the time goes back, the gaps behind stay.
TEST(TraceReaders, TimesOfFioThatGoBackAreTold) {
    const auto trace = read(
        "fio version 3 iolog\n1 f add\n1000 f read 0 512\n2000 f read 0 512\n1000 f read 0 512\n"
        "2000 f read 0 512\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    EXPECT_EQ(trace->requests[3].received - trace->requests[0].received, 2'000'000);
    EXPECT_EQ(trace->notes.front(),
              "the times of the log go back once, first in line 5: the log goes on from there, as "
              "fio replays it");
    const auto waits = read("fio version 2 iolog\nf wait 5 0\nf read 0 512\nf wait 5 0\n");
    ASSERT_TRUE(waits.has_value()) << waits.error();
    EXPECT_NE(waits->notes.front().find("first in line 4"), std::string::npos);
}

// "iolog: ignoring wait command with version 3", says fio.
TEST(TraceReaders, AWaitInALogWithTimesIsLeftOutAndCounted) {
    const auto trace = read(
        "fio version 3 iolog\n1 f add\n1000 f read 0 512\n1500 f wait 900 0\n2000 f read 0 512\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[1].received - trace->requests[0].received, 1'000'000);
    EXPECT_EQ(trace->notes.front(),
              "1 line wait is left out, as by fio: each line of version 3 has its time");
}

TEST(TraceReaders, AFioLogOfSeveralFilesNeedsTheName) {
    const std::string log = "fio version 2 iolog\nd read 0 512\ne read 0 1024\n";
    const auto one = decode_any(std::as_bytes(std::span(log)), "e");
    ASSERT_TRUE(one.has_value()) << one.error();
    ASSERT_EQ(one->requests.size(), 1u);
    EXPECT_EQ(one->requests[0].bytes, 1024u);
    const auto none = decode_any(std::as_bytes(std::span(log)), "g");
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error(),
              "the log has no request to the file g, but d (1 request), e (1 request)");
}

// fio writes these lines, and refuses to read them.
TEST(TraceReaders, ASyncOfARangeIsLeftOutAndCounted) {
    const auto trace = read(
        "fio version 3 iolog\n1 f add\n1 f write 0 512\n2 f sync_file_range 0 0\n3 f syncfs 0 0\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[1].op, Op::flush);
    EXPECT_EQ(trace->notes.front(),
              "1 line sync_file_range is left out: no block device has such an operation");
}

TEST(TraceReaders, ALastLineOfFioWithoutAnEndIsTakenAndTold) {
    const auto trace = read("fio version 2 iolog\nd read 0 512\nd read 512 4096");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[1].bytes, 4096u);
    EXPECT_EQ(trace->notes.front(),
              "line 3, the last one, has no end: it is taken as it is, and may be cut off");
}

TEST(TraceReaders, ALineOfFioThatIsCutIsLeftOutAndTold) {
    for (const char* rest : {"d read 0", "d re", "d", "d read 18446744073709551615 40"}) {
        const auto trace = read(std::string("fio version 2 iolog\nd read 0 512\n") + rest);
        ASSERT_TRUE(trace.has_value()) << trace.error();
        EXPECT_EQ(trace->requests.size(), 1u) << rest;
        EXPECT_TRUE(
            trace->notes.front().starts_with("line 3, the last one, is cut off and left out: "))
            << trace->notes.front();
    }
}

// fio reads its logs with scanf(3), which takes any blanks.
TEST(TraceReaders, AFioLogMayHaveTabsBlanksAndBlankLines) {
    const auto trace = read(
        "fio version 3 iolog \r\n\r\n1\tf\tadd\r\n1  f read  0 512 \r\n \t\n"
        " 2 f\twrite 512 1024\n\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[1].op, Op::write);
    EXPECT_EQ(trace->requests[1].bytes, 1024u);
}

TEST(TraceReaders, ACsvFileOfSeveralDevicesNeedsTheName) {
    const std::string csv =
        "device,op,offset,bytes,received_ns\nnbd0,read,0,512,1\nnbd1,read,0,1024,2\n";
    EXPECT_EQ(refusal(csv),
              "has several devices: nbd0 (1 request), nbd1 (1 request); name one with --device");
    const auto one = decode_any(std::as_bytes(std::span(csv)), "nbd1");
    ASSERT_TRUE(one.has_value()) << one.error();
    EXPECT_EQ(one->requests.front().bytes, 1024u);
}

TEST(TraceReaders, ADeviceOfAnotherKindKeepsItsName) {
    const std::string head = "device,op,offset,bytes,received_ns\n";
    for (const std::string name : {"8:16", "sda", "/dev/nvme0n1", "dm-3", "a \"quoted\" one"}) {
        const std::string text = "\"" + std::regex_replace(name, std::regex("\""), "\"\"") + "\"";
        const auto trace = read(head + text + ",read,0,512,1\n");
        ASSERT_TRUE(trace.has_value()) << trace.error();
        const std::string csv = to_csv(*trace);
        EXPECT_EQ(csv.find("nbd"), std::string::npos) << csv;
        EXPECT_NE(to_json(*trace).find("{\"device\":" + json_string(name) + ","), std::string::npos)
            << to_json(*trace);
        EXPECT_EQ(to_perfetto(*trace).find("nbd"), std::string::npos) << to_perfetto(*trace);
        const auto again = read(csv);
        ASSERT_TRUE(again.has_value()) << again.error();
        EXPECT_EQ(to_csv(*again), csv);
        const auto ours = read(encode_file(*trace));
        ASSERT_TRUE(ours.has_value()) << ours.error();
        EXPECT_EQ(to_csv(*ours), csv);
    }
    EXPECT_EQ(refusal(head + "sda,read,0,512,1\nsdb,read,0,512,2\nsdb,read,0,512,3\n"),
              "has several devices: sda (1 request), sdb (2 requests); name one with --device");
    const std::string two = head + "8:0,read,0,512,1\n8:16,read,0,1024,2\n";
    for (const char* name : {"8:16", "8,16"}) {
        const auto one = decode_any(std::as_bytes(std::span(two)), name);
        ASSERT_TRUE(one.has_value()) << one.error();
        ASSERT_EQ(one->requests.size(), 1u);
        EXPECT_EQ(one->requests[0].bytes, 1024u);
        EXPECT_EQ(one->properties.at("device"), "8:16");
    }
    EXPECT_EQ(refusal(head + "a\x1b[2J,read,0,512,1\n"),
              "line 2: the device is \"a\\u001b[2J\": it has control characters");
}

TEST(TraceReaders, ADiskOfBlktraceKeepsItsNumber) {
    const auto trace = read(
        "device,op,offset,bytes,received_ns,queued_ns,started_ns,finished_ns\n"
        "259:16,read,0,512,1,2,3,4\n");
    ASSERT_TRUE(trace.has_value()) << trace.error();
    const auto again = read(to_blktrace(*trace).at(0));
    ASSERT_TRUE(again.has_value()) << again.error();
    EXPECT_EQ(again->properties.at("device"), "259:16");
    EXPECT_EQ(to_csv(*again).find("nbd"), std::string::npos) << to_csv(*again);
}

// fio's --write_iolog opens its file for appending.
TEST(TraceReaders, ALogThatFioHasAppendedIsNamedWithItsLine) {
    for (const std::string version : {"2", "3"}) {
        const std::string time = version == "3" ? "5 " : "";
        const std::string log =
            "fio version " + version + " iolog\n" + time + "d add\n" + time + "d read 0 512\n";
        const std::string why = refusal(log + log);
        EXPECT_EQ(why.find("line 4: another log of fio begins here"), 0u) << why;
        const std::string cut = log.substr(0, log.size() - 3);
        EXPECT_EQ(refusal(cut + log).find("line 3: another log of fio begins here"), 0u)
            << refusal(cut + log);
    }
}

TEST(TraceReaders, AWrongLogOfFioIsRefusedWithItsLine) {
    EXPECT_EQ(refusal("fio version 9 iolog\n"), "line 1: no log of fio, version 2 or 3");
    EXPECT_EQ(refusal("fio version 3 iolog\nd add\n"), "line 2: no time in microseconds");
    EXPECT_EQ(refusal("fio version 2 iolog\nd\n"), "line 2: no action");
    EXPECT_EQ(refusal("fio version 2 iolog\nd read 0\n"), "line 2: no offset and length");
    EXPECT_EQ(refusal("fio version 2 iolog\nd jump 0 1\n"), "line 2: an unknown action, \"jump\"");
    EXPECT_EQ(refusal("fio version 2 iolog\nd wait 99999999999999999999 0\n"),
              "line 2: no time to wait for");
    EXPECT_EQ(refusal("fio version 2 iolog\nd wait 9223372036854775807 0\n"),
              "line 2: too long to wait for");
    EXPECT_EQ(refusal("fio version 2 iolog\nd read 0 1\ne read 0 1\n"),
              "has requests to several files: d (1 request), e (1 request); name one with "
              "--device");
}

TEST(TraceReaders, BlktraceKeepsTheStagesInTheDevice) {
    const Trace trace = trace_of_all();
    const auto again = read(to_blktrace(trace).at(1));
    ASSERT_TRUE(again.has_value()) << again.error();
    ASSERT_EQ(again->requests.size(), 5u);  // without cache and block_status
    for (size_t i = 0; i < 5; ++i) {
        const Request& was = trace.requests[i];
        const Request& is = again->requests[i];
        EXPECT_EQ(is.op, was.op == Op::write_zeroes ? Op::write : was.op);
        EXPECT_EQ(is.flags, was.flags & flag::fua);
        EXPECT_EQ(is.offset, was.offset);
        EXPECT_EQ(is.bytes, was.bytes);
        EXPECT_EQ(is.client, was.client);
        EXPECT_EQ(is.device, was.device);
        EXPECT_EQ(is.error, was.error);
        EXPECT_EQ(is.queued - is.received, was.queued - was.received);
        EXPECT_EQ(is.started - is.queued, was.started - was.queued);
        EXPECT_EQ(is.finished - is.started, was.finished - was.started);
    }
}

// As the kernel writes them: the disk has more requests under way, and ends them in another order.
TEST(TraceReaders, BlktracesEventsBelongToTheirPlace) {
    std::string file;
    const auto add = [&](uint32_t code, uint64_t time, uint64_t sector) {
        BlktraceEvent event{};
        event.magic = blktrace::magic;
        event.time = time;
        event.sector = sector;
        event.bytes = 512;
        event.action = code | blktrace::read_bit;
        file.append(reinterpret_cast<const char*>(&event), sizeof event);
    };
    add(blktrace::queued, 0, 8);
    add(blktrace::queued, 10, 16);
    add(blktrace::issued, 20, 8);
    add(blktrace::issued, 30, 16);
    add(blktrace::completed, 40, 16);
    add(blktrace::completed, 70, 8);
    const auto trace = read(file);
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->requests[0].finished - trace->requests[0].started, 50);
    EXPECT_EQ(trace->requests[1].finished - trace->requests[1].started, 10);
}

TEST(TraceReaders, ADamagedFileOfBlktraceIsRefused) {
    std::string file = to_blktrace(trace_of_all()).at(1);
    EXPECT_EQ(refusal(file.substr(0, sizeof(BlktraceEvent) - 1)),
              "cut off within an event of blktrace");
    file[sizeof(BlktraceEvent) + 16] ^= 1;  // behind the name of a client
    EXPECT_EQ(refusal(file), "damaged at byte 64: an event without its magic");
    const std::string swapped("\x65\x61\x74\x07", 4);
    EXPECT_EQ(refusal(swapped + std::string(44, '\0')),
              "has 1 events, but none of them is a Q or a D");
}

TEST(TraceReaders, AnythingElseIsNoTrace) {
    EXPECT_FALSE(refusal("").empty());
    EXPECT_FALSE(refusal("a text, with a comma\n").empty());
}

}  // namespace
}  // namespace blkscope::trace
