// Traces read back from the formats of other programs.
#include "trace/readers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

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
    EXPECT_EQ(refusal(head + "read,0,512,1\nread,0\n"), "line 3: 2 values for 4 columns");
    EXPECT_EQ(refusal(head + "reed,0,512,1\n"), "line 2: a wrong value in the column 1");
    EXPECT_EQ(refusal(head + "read,-1,512,1\n"), "line 2: a wrong value in the column 2");
    EXPECT_EQ(refusal(head + "read,0,512,0\n"), "line 2: a request without a time of arrival");
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
    EXPECT_EQ(
        trace->notes.front(),
        "the times of the log go back 1 times, first in line 5: the log goes on from there, as "
        "fio replays it");
    const auto waits = read("fio version 2 iolog\nf wait 5 0\nf read 0 512\nf wait 5 0\n");
    ASSERT_TRUE(waits.has_value()) << waits.error();
    EXPECT_NE(waits->notes.front().find("first in line 4"), std::string::npos);
}

TEST(TraceReaders, AFioLogOfSeveralFilesNeedsTheName) {
    const std::string log = "fio version 2 iolog\nd read 0 512\ne read 0 1024\n";
    const auto one = decode_any(std::as_bytes(std::span(log)), "e");
    ASSERT_TRUE(one.has_value()) << one.error();
    ASSERT_EQ(one->requests.size(), 1u);
    EXPECT_EQ(one->requests[0].bytes, 1024u);
    EXPECT_FALSE(decode_any(std::as_bytes(std::span(log)), "g").has_value());
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
              "has several devices: nbd0 (1 requests), nbd1 (1 requests); name one with --device");
    const auto one = decode_any(std::as_bytes(std::span(csv)), "nbd1");
    ASSERT_TRUE(one.has_value()) << one.error();
    EXPECT_EQ(one->requests.front().bytes, 1024u);
}

TEST(TraceReaders, AWrongLogOfFioIsRefusedWithItsLine) {
    EXPECT_EQ(refusal("fio version 9 iolog\n"), "line 1: no log of fio, version 2 or 3");
    EXPECT_EQ(refusal("fio version 3 iolog\nd add\n"), "line 2: no time in microseconds");
    EXPECT_EQ(refusal("fio version 2 iolog\nd\n"), "line 2: no action");
    EXPECT_EQ(refusal("fio version 2 iolog\nd read 0\n"), "line 2: no offset and length");
    EXPECT_EQ(refusal("fio version 2 iolog\nd jump 0 1\n"), "line 2: an unknown action");
    EXPECT_EQ(refusal("fio version 2 iolog\nd wait 99999999999999999999 0\n"),
              "line 2: no time to wait for");
    EXPECT_EQ(refusal("fio version 2 iolog\nd wait 9223372036854775807 0\n"),
              "line 2: too long to wait for");
    EXPECT_EQ(refusal("fio version 2 iolog\nd read 0 1\ne read 0 1\n"),
              "line 3: the log has requests to a second file");
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
