// The plan and the report of a replay, without a server.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tools/blkscope/replay_plan.hpp"
#include "tools/blkscope/replay_report.hpp"

namespace blkscope {
namespace {

namespace offered = nbd::transmission_flag;

trace::Request request(trace::Op op, uint64_t offset, uint64_t bytes, uint8_t flags = 0) {
    trace::Request made;
    made.op = op;
    made.offset = offset;
    made.bytes = bytes;
    made.flags = flags;
    return made;
}

nbd::RemoteExport full_export() {
    nbd::RemoteExport remote;
    remote.size_bytes = 1 << 20;
    remote.transmission_flags = offered::has_flags | offered::send_flush | offered::send_fua |
                                offered::send_trim | offered::send_write_zeroes |
                                offered::send_cache | offered::send_fast_zero;
    remote.terms.allocation = true;
    return remote;
}

TEST(ReplayPlan, ARequestKeepsItsFlagsAndItsPlace) {
    const nbd::Request zeroes =
        remote_request(request(trace::Op::write_zeroes, 4096, 512, trace::flag::all));
    EXPECT_EQ(zeroes.type, nbd::Command::write_zeroes);
    EXPECT_EQ(zeroes.flags,
              nbd::command_flag::fua | nbd::command_flag::no_hole | nbd::command_flag::fast_zero);
    EXPECT_EQ(zeroes.offset, 4096u);
    EXPECT_EQ(zeroes.length, 512u);
    const nbd::Request flush = remote_request(request(trace::Op::flush, 5, 7));
    EXPECT_EQ(flush.offset, 0u);
    EXPECT_EQ(flush.length, 0u);
}

TEST(ReplayPlan, OnlyWritesTrimsAndZeroesChangeData) {
    EXPECT_EQ(changes_of({request(trace::Op::read, 0, 1), request(trace::Op::flush, 0, 0),
                          request(trace::Op::cache, 0, 1), request(trace::Op::block_status, 0, 1)}),
              "");
    EXPECT_EQ(changes_of({request(trace::Op::write, 0, 1), request(trace::Op::trim, 0, 1),
                          request(trace::Op::trim, 0, 1), request(trace::Op::write_zeroes, 0, 1)}),
              "1 write, 2 trims, 1 write_zeroes");
}

TEST(ReplayPlan, AnExportWithEverythingTakesEverything) {
    std::vector<trace::Request> all;
    for (uint8_t op = 0; op <= static_cast<uint8_t>(trace::last_op); ++op) {
        all.push_back(request(trace::Op{op}, 0, 1 << 20, trace::flag::all));
    }
    EXPECT_EQ(why_not(all, full_export()), "");
}

TEST(ReplayPlan, SaysWhatTheExportLacks) {
    const auto lacks = [](trace::Op op, uint16_t flag, uint8_t flags = 0) {
        nbd::RemoteExport remote = full_export();
        remote.transmission_flags = static_cast<uint16_t>(remote.transmission_flags & ~flag);
        const std::string why = why_not({request(op, 512, 512, flags)}, remote);
        return why.substr(0, why.find(';'));
    };
    EXPECT_EQ(lacks(trace::Op::flush, offered::send_flush), "the export has no flushes");
    EXPECT_EQ(lacks(trace::Op::trim, offered::send_trim), "the export has no trims");
    EXPECT_EQ(lacks(trace::Op::write_zeroes, offered::send_write_zeroes),
              "the export has no zeroes");
    EXPECT_EQ(lacks(trace::Op::cache, offered::send_cache), "the export has no cache requests");
    EXPECT_EQ(lacks(trace::Op::write, offered::send_fua, trace::flag::fua),
              "the export has no FUA");
    EXPECT_EQ(lacks(trace::Op::write_zeroes, offered::send_fast_zero, trace::flag::fast_zero),
              "the export has no fast zeroes");
}

TEST(ReplayPlan, SaysWhichRequestsDoNotFit) {
    nbd::RemoteExport remote = full_export();
    remote.block_size = {.minimum = 512, .preferred = 4096, .maximum = 65536};
    EXPECT_EQ(why_not({request(trace::Op::read, 0, 512), request(trace::Op::read, 1 << 20, 512),
                       request(trace::Op::read, UINT64_MAX, 512)},
                      remote),
              "the export has only 1048576 bytes; request 2 is a read of 512 bytes at 1048576, and "
              "1 more cannot be sent");
    EXPECT_EQ(why_not({request(trace::Op::read, 100, 512)}, remote),
              "the export has blocks of 512 bytes; request 1 is a read of 512 bytes at 100");
    EXPECT_EQ(why_not({request(trace::Op::write, 0, 65536 + 512)}, remote),
              "the export takes at most 65536 bytes in a request; request 1 is a write of 66048 "
              "bytes at 0");
    EXPECT_EQ(why_not({request(trace::Op::trim, 0, 1 << 20)}, remote), "");
}

TEST(ReplayPlan, TheDataOfAWriteIsThatOfTheSeed) {
    const ReplayData one(7, 4096);
    const ReplayData same(7, 4096);
    const ReplayData other(8, 4096);
    for (const uint64_t number : {0U, 1U, 1000U}) {
        EXPECT_EQ(std::memcmp(one.of(number), same.of(number), 4096), 0);
        EXPECT_NE(std::memcmp(one.of(number), other.of(number), 4096), 0);
    }
    EXPECT_NE(std::memcmp(one.of(0), one.of(1), 4096), 0);
}

TEST(ReplayReport, HasTheTimesOfTheTraceBesideThoseOfTheReplay) {
    std::vector<trace::Request> requests;
    std::vector<Replayed> outcome;
    for (int64_t i = 0; i < 100; ++i) {
        trace::Request read = request(trace::Op::read, 0, 512);
        read.received = 1'000'000 * (i + 1);
        read.queued = read.started = read.received;
        read.finished = read.replied = read.received + 1000 * (i + 1);
        requests.push_back(read);
        outcome.push_back({.sent_ns = 500'000 * i + 100 * i,
                           .late_ns = 100 * i,
                           .took_ns = 2000 * (i + 1),
                           .error = i == 3 ? 5U : 0U});
    }
    EXPECT_EQ(replay_report(requests, outcome, {.speed = 2}),
              "100 requests in 0.050 s: asked 2000.0/s, reached 1999.6/s\n"
              "late: p99 9.8us, worst 9.9us\n"
              "\n"
              "op            of        requests   errors      p50      p90      p99      max\n"
              "read          trace          100        0     50us     90us     99us    100us\n"
              "              replay         100        1    100us    180us    198us    200us\n");
}

TEST(ReplayReport, ARequestWithoutAKnownEndHasNoTime) {
    std::vector<trace::Request> requests(3, request(trace::Op::read, 0, 512));
    for (trace::Request& each : requests) each.received = each.started = 1000;
    requests[0].finished = 6000;
    const std::vector<Replayed> outcome(3, {.sent_ns = 0, .late_ns = 0, .took_ns = 7, .error = 0});
    const std::string report = replay_report(requests, outcome, {.speed = 1, .in_flight = 4});
    EXPECT_NE(
        report.find("read          trace            3        0      5us      5us      5us      "
                    "5us\n"),
        std::string::npos)
        << report;
    EXPECT_NE(
        report.find("\nThe trace does not say when 2 of its 3 requests ended; the times above "
                    "are without them.\n"),
        std::string::npos)
        << report;
}

TEST(ReplayReport, WithoutTimesTheTraceHasDashes) {
    const std::string report = replay_report(
        {request(trace::Op::flush, 0, 0)}, {{.sent_ns = 0, .late_ns = 0, .took_ns = 5, .error = 0}},
        {.speed = 1, .in_flight = 4});
    EXPECT_EQ(report,
              "1 requests in 0.000 s: reached - with 4 under way\n"
              "\n"
              "op            of        requests   errors      p50      p90      p99      max\n"
              "flush         trace            1        0        -        -        -        -\n"
              "              replay           1        0      5ns      5ns      5ns      5ns\n");
}

}  // namespace
}  // namespace blkscope
