// The formats of other programs, byte by byte where they are small.
#include "trace/formats.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "requests.hpp"
#include "trace/kept.hpp"

namespace blkscope::trace {
namespace {

struct Event {
    uint32_t magic, sequence;
    uint64_t time, sector;
    uint32_t bytes, action, pid, device, cpu;
    uint16_t error, pdu_bytes;
};

std::vector<Event> events_of(const std::string& file) {
    std::vector<Event> events;
    for (size_t at = 0; at < file.size();) {
        Event event;
        std::memcpy(&event, file.data() + at, sizeof event);
        at += sizeof event + event.pdu_bytes;
        events.push_back(event);
    }
    return events;
}

std::string codes_of(const std::vector<Event>& events) {
    const std::map<uint32_t, char> names{{0, 'N'},  {1, 'Q'}, {4, 'G'},
                                         {12, 'I'}, {7, 'D'}, {8, 'C'}};
    std::string codes;
    for (const Event& event : events) codes += names.at(event.action & 0xffff);
    return codes;
}

TEST(Blktrace, HasTheStagesOfARequestAsEvents) {
    Trace trace;
    trace.requests = {request_at(1000)};
    const auto files = to_blktrace(trace);
    ASSERT_EQ(files.size(), 1u);
    const std::vector<Event> events = events_of(files.at(1));
    ASSERT_EQ(codes_of(events), "NQGIDC");
    for (uint32_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].magic, 0x65617407u);
        EXPECT_EQ(events[i].sequence, i);  // the name has none
        EXPECT_EQ(events[i].cpu, 1u);
        EXPECT_EQ(events[i].pid, 2u);
    }
    EXPECT_EQ(events[4].time - events[3].time, 20u);  // I2D: wait
    EXPECT_EQ(events[5].time - events[4].time, 30u);  // D2C: service
    EXPECT_EQ(events[5].sector, 16u);
    EXPECT_EQ(events[5].bytes, 4096u);
    EXPECT_EQ(events[5].device, 43u << 20 | 3);
    EXPECT_EQ(events[5].action, 8u | 1u << (16 + 7) | 1u << 16);
}

TEST(Blktrace, HasAFileForEachWorkerInTheOrderOfTime) {
    Trace trace;
    trace.requests = {request_at(1000), request_at(1005), request_at(1010)};
    trace.requests[1].worker = 4;
    const auto files = to_blktrace(trace);
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(codes_of(events_of(files.at(4))), "NQGIDC");
    const std::vector<Event> events = events_of(files.at(1));
    for (size_t i = 1; i < events.size(); ++i) EXPECT_GE(events[i].time, events[i - 1].time);
}

TEST(Blktrace, LeavesOutWhatABlockLayerDoesNotHave) {
    const auto files = to_blktrace(trace_of_all());
    EXPECT_EQ(codes_of(events_of(files.at(1))), "NQGIDCQGIDCQGIDCQGIDCQGIDC");
}

TEST(Blktrace, AnUnknownMomentIsNoEvent) {
    Trace trace;
    trace.requests = {request_at(1000)};
    trace.requests[0].queued = trace.requests[0].finished = 0;
    EXPECT_EQ(codes_of(events_of(to_blktrace(trace).at(1))), "NQGD");
    // As a D without its Q, which was read from blktrace.
    trace.requests[0].received = 0;
    EXPECT_EQ(codes_of(events_of(to_blktrace(trace).at(1))), "ND");
}

// 6 GiB do not fit 32 bits.
TEST(Kept, ALongRequestIsSeveralWithTheSameBytes) {
    Trace trace;
    trace.requests = {request_at(1000, Op::write_zeroes)};
    trace.requests[0].bytes = uint64_t{6} << 30;
    uint64_t next = trace.requests[0].offset;
    std::istringstream log(to_fio2(trace));
    size_t lines = 0;
    for (std::string line; std::getline(log, line);) {
        if (line.find(" write ") == std::string::npos) continue;
        std::istringstream words(line.substr(line.find(" write ") + 7));
        uint64_t offset = 0;
        uint64_t bytes = 0;
        words >> offset >> bytes;
        EXPECT_EQ(offset, next);
        next = offset + bytes;
        ++lines;
    }
    EXPECT_EQ(lines, 6u);
    EXPECT_EQ(next, trace.requests[0].offset + trace.requests[0].bytes);
    uint64_t queued = 0;
    for (const Event& event : events_of(to_blktrace(trace).at(1))) {
        if ((event.action & 0xffff) == 1) queued += event.bytes;
    }
    EXPECT_EQ(queued, uint64_t{6} << 30);
}

TEST(Kept, WhatIsLostIsCounted) {
    Trace trace = trace_of_all();
    trace.requests[0].offset = 700;
    const Kept fio = kept_by("fio", trace);
    EXPECT_EQ(fio.requests, 5u);
    EXPECT_EQ(fio.lines, (std::vector<std::string>{
                             "1 cache requests left out: fio has no such operation",
                             "1 block_status requests left out: fio has no such operation",
                             "1 write_zeroes requests became writes: fio has no zeroes",
                             "1 trims are left out by fio before 3.34, which says bad ddir",
                             "1 requests lost their flag FUA: fio's logs have none"}));
    const Kept blktrace = kept_by("blktrace", trace);
    EXPECT_EQ(blktrace.requests, 5u);
    EXPECT_EQ(blktrace.lines.back(),
              "1 requests begin within a sector, and were widened to its beginning");
    EXPECT_EQ(events_of(to_blktrace(trace).at(1))[1].bytes, 4096u + 188u);
    EXPECT_EQ(kept_by("csv", trace).requests, 7u);
    trace.requests[0].offset = uint64_t{1} << 63;
    EXPECT_EQ(kept_by("fio3", trace).requests, 4u);
    EXPECT_EQ(to_fio2(trace).find("9223372036854775808"), std::string::npos);
}

// No block device has them. In blktrace, a completion without bytes is the end of a flush.
TEST(Kept, ARequestWithoutBytesIsLeftOut) {
    Trace trace;
    trace.requests = {request_at(1000), request_at(2000, Op::flush)};
    trace.requests[0].bytes = trace.requests[1].bytes = 0;
    for (const char* format : {"fio", "blktrace"}) {
        const Kept kept = kept_by(format, trace);
        EXPECT_EQ(kept.requests, 1u);
        EXPECT_EQ(kept.lines, (std::vector<std::string>{"1 requests without bytes left out"}));
    }
    EXPECT_EQ(codes_of(events_of(to_blktrace(trace).at(1))), "NQGIDC");
    EXPECT_EQ(to_fio2(trace).find(" read "), std::string::npos);
}

TEST(Fio, Version2WaitsInMilliseconds) {
    Trace trace = trace_of_all();
    trace.requests[3].received += 2'000'000;
    EXPECT_EQ(
        to_fio2(trace),
        "fio version 2 iolog\nnbd3 add\nnbd3 open\nnbd3 read 8192 4096\nnbd3 write 8192 4096\n"
        "nbd3 sync 0 0\nnbd3 wait 2 0\nnbd3 trim 8192 4096\nnbd3 write 8192 4096\n"
        "nbd3 close\n");
}

TEST(Fio, Version3HasMicrosecondsAndRefusesTrims) {
    Trace trace = trace_of_all();
    const auto refused = to_fio3(trace);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().why.find("has 1 trims"), std::string::npos);
    trace.requests.erase(trace.requests.begin() + 3);
    const auto text = to_fio3(trace);
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(*text,
              "fio version 3 iolog\n1 nbd3 add\n1 nbd3 open\n1 nbd3 read 8192 4096\n"
              "2 nbd3 write 8192 4096\n3 nbd3 sync 0 0\n5 nbd3 write 8192 4096\n5 nbd3 close\n");
}

TEST(Fio, NamesThatFioCannotReadAreReplaced) {
    Trace trace;
    trace.properties["device"] = "a b";
    EXPECT_EQ(to_fio2(trace), "fio version 2 iolog\ndevice add\ndevice open\ndevice close\n");
}

TEST(Perfetto, HasAMatchedPairForEachStage) {
    const auto events = nlohmann::json::parse(to_perfetto(trace_of_all()));
    std::map<std::string, int> open;
    int stages = 0;
    for (const auto& event : events) {
        if (event["ph"] == "M") continue;
        EXPECT_EQ(event["pid"], 3);
        EXPECT_EQ(event["tid"], 2);
        const std::string key = event["id"].dump() + event["name"].get<std::string>();
        if (event["ph"] == "b") {
            EXPECT_EQ(open[key]++, 0);
            ++stages;
        } else {
            EXPECT_EQ(event["ph"], "e");
            EXPECT_EQ(open[key]--, 1);
        }
    }
    EXPECT_EQ(stages, 4 * 7);
    for (const auto& [key, count] : open) EXPECT_EQ(count, 0) << key;
    EXPECT_EQ(events[2]["ts"], 1000.0);  // the first two name the device and the client
    EXPECT_EQ(events[3]["ts"], 1000.01);
}

// Without a stamp the stages around it are one; without an end there is none.
TEST(Perfetto, AnUnknownMomentIsNotDrawn) {
    Trace trace;
    trace.requests.assign(3, request_at(1000));
    trace.requests[0].started = 0;
    trace.requests[1].finished = trace.requests[1].replied = 0;
    trace.requests[2] = {.received = 1000, .bytes = 512, .device = 3, .client = 2};
    std::string drawn;
    for (const auto& event : nlohmann::json::parse(to_perfetto(trace))) {
        if (event["ph"] == "M") continue;
        drawn += event["ph"].get<std::string>() + event["id"].dump() + " " +
                 event["name"].get<std::string>() + " " + event["ts"].dump() + "\n";
    }
    EXPECT_EQ(drawn,
              "b1 receive 1.0\ne1 receive 1.01\nb1 wait+service 1.01\ne1 wait+service 1.06\n"
              "b1 reply 1.06\ne1 reply 1.1\n"
              "b2 receive 1.0\ne2 receive 1.01\nb2 wait 1.01\ne2 wait 1.03\n"
              "n3 arrival 1.0\n");
}

TEST(Csv, HasEverythingOfARequest) {
    Trace trace;
    trace.requests = {trace_of_all().requests[1]};
    EXPECT_EQ(to_csv(trace),
              "device,worker,client,op,flags,error,offset,bytes,depth,received_ns,queued_ns,"
              "started_ns,finished_ns,replied_ns,drawn_ns,cookie,upstream_cookie,facts\n"
              "nbd3,1,client-2,write,fua|no_hole,5,8192,4096,5,1001000,1001010,1001030,1001060,"
              "1001100,25,30064771075,18446744073709551614,\"lost=0;realtime_ns=0\"\n");
}

TEST(JsonLines, KeepUtf8AndEscapeOtherBytes) {
    Trace trace;
    trace.properties["model"] = "read=empirical:/srv/\xc3\xbc\xe2\x82\xac/\xf0\x9f\x92\xbe";
    trace.properties["odd"] = "\xff\"\\";
    const std::string text = to_json(trace);
    EXPECT_NE(text.find(trace.properties["model"]), std::string::npos) << text;
    const auto head = nlohmann::json::parse(text);
    EXPECT_EQ(head["model"], trace.properties["model"]);
    EXPECT_EQ(head["odd"], "\xc3\xbf\"\\");
}

TEST(JsonLines, AreAnObjectEach) {
    std::istringstream lines(to_json(trace_of_all()));
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    const auto head = nlohmann::json::parse(line);
    EXPECT_EQ(head["requests"], 7);
    EXPECT_EQ(head["lost"], 7);
    EXPECT_EQ(head["model"], "read=exp:1ms \"x\"");
    std::vector<nlohmann::json> requests;
    while (std::getline(lines, line)) requests.push_back(nlohmann::json::parse(line));
    ASSERT_EQ(requests.size(), 7u);
    EXPECT_EQ(requests[1]["flags"], (std::vector<std::string>{"fua", "no_hole"}));
    EXPECT_EQ(requests[0]["flags"], nlohmann::json::array());
    EXPECT_EQ(requests[6]["op"], "block_status");
    EXPECT_EQ(requests[6]["upstream_cookie"], "18446744073709551614");
    EXPECT_EQ(requests[6]["replied_ns"], 1'006'100);
}

}  // namespace
}  // namespace blkscope::trace
