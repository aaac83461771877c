// Events of blktrace as the kernel writes them: merged, split, queued again, lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "trace/blktrace_event.hpp"
#include "trace/formats.hpp"
#include "trace/readers.hpp"

namespace blkscope::trace {
namespace {

constexpr uint32_t backmerge = 2;
constexpr uint32_t requeue = 6;
constexpr uint32_t split_code = 13;
constexpr uint32_t fua = 1U << 31;
constexpr uint32_t in_cgroup = 1U << 8;
constexpr uint32_t writes = blktrace::write_bit;
constexpr uint32_t reads = blktrace::read_bit;

class KernelEvents {
  public:
    KernelEvents& add(uint32_t code, uint64_t time, uint64_t sector, uint32_t bytes,
                      uint32_t kind = writes, uint32_t device = 8U << 20) {
        BlktraceEvent event{};
        event.magic = blktrace::magic;
        event.sequence = ++sequence_;
        event.time = time;
        event.sector = sector;
        event.bytes = bytes;
        event.action = code | kind;
        event.device = device;
        events_.push_back(event);
        return *this;
    }
    /// `rest` is the sector where the rest begins, as the kernel writes it.
    KernelEvents& split(uint64_t time, uint64_t sector, uint32_t bytes, uint64_t rest) {
        add(split_code, time, sector, bytes, reads);
        payloads_[events_.size() - 1] = __builtin_bswap64(rest);
        events_.back().pdu_bytes = sizeof rest;
        return *this;
    }
    /// A notice, as the name of a process, whose other fields are old bytes of the kernel's buffer.
    KernelEvents& notice(uint64_t time) {
        add(0, time, 0xdeadbeefdeadbeef, 0xffffffff, blktrace::notify_bit);
        return *this;
    }
    KernelEvents& lose() {
        ++sequence_;
        return *this;
    }
    [[nodiscard]] std::string file() const {
        std::string bytes;
        for (size_t i = 0; i < events_.size(); ++i) {
            bytes.append(reinterpret_cast<const char*>(&events_[i]), sizeof events_[i]);
            if (events_[i].pdu_bytes == 0) continue;
            bytes.append(reinterpret_cast<const char*>(&payloads_.at(i)), events_[i].pdu_bytes);
        }
        return bytes;
    }
    [[nodiscard]] Result<Trace, std::string> read(std::string_view device = {}) const {
        const std::string bytes = file();
        return decode_any(std::as_bytes(std::span(bytes)), device);
    }
    [[nodiscard]] std::vector<Request> requests() const {
        const auto trace = read();
        EXPECT_TRUE(trace.has_value()) << trace.error();
        return trace ? trace->requests : std::vector<Request>{};
    }

  private:
    std::vector<BlktraceEvent> events_;
    std::map<size_t, uint64_t> payloads_;
    uint32_t sequence_ = 0;
};

using blktrace::completed;
using blktrace::issued;
using blktrace::queued;

// As if `cat trace.blktrace.* trace.blktrace.0` had made the file.
TEST(BlktraceReader, AnEventThatIsInTheFileTwiceIsTakenOnce) {
    const std::string bytes = KernelEvents()
                                  .add(queued, 1000, 8, 4096)
                                  .add(issued, 2000, 8, 4096)
                                  .add(completed, 5000, 8, 4096)
                                  .add(queued, 6000, 8, 4096)
                                  .file();
    const std::string twice = bytes + bytes;
    const auto once = decode_any(std::as_bytes(std::span(bytes)));
    const auto trace = decode_any(std::as_bytes(std::span(twice)));
    ASSERT_TRUE(once.has_value() && trace.has_value());
    EXPECT_EQ(trace->requests, once->requests);
    EXPECT_EQ(trace->requests.size(), 2u);
    EXPECT_EQ(trace->notes.front(),
              "4 events are in the file again, with the same number of the same processor: taken "
              "once");
}

TEST(BlktraceReader, MergedRequestsEndTogether) {
    const auto requests = KernelEvents()
                              .add(queued, 0, 8, 4096)
                              .add(queued, 1000, 16, 4096)
                              .add(backmerge, 1100, 16, 4096)
                              .add(queued, 2000, 0, 4096)
                              .add(3, 2100, 0, 4096)  // in front
                              .add(issued, 10'000, 0, 12'288)
                              .add(completed, 5'010'000, 0, 12'288)
                              .requests();
    ASSERT_EQ(requests.size(), 3u);
    for (const Request& each : requests) {
        EXPECT_EQ(each.started, 10'001);
        EXPECT_EQ(each.finished, 5'010'001);
    }
}

TEST(BlktraceReader, ASplitRequestEndsWithItsLastPart) {
    const auto requests = KernelEvents()
                              .add(queued, 0, 0, 12'288, reads)
                              .add(split_code, 10, 0, 12'288, reads)
                              .add(issued, 100, 0, 4096, reads)
                              .add(issued, 200, 8, 8192, reads)
                              .add(completed, 900, 8, 4096, reads)
                              .add(completed, 1000, 16, 4096, reads)
                              .add(completed, 1500, 0, 4096, reads)
                              .requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].started, 101);
    EXPECT_EQ(requests[0].finished, 1501);
}

// Linux 4.9: the rest of a split has a Q of its own, and is split again.
TEST(BlktraceReader, TheRestOfASplitIsNoRequestOfItsOwn) {
    const auto requests = KernelEvents()
                              .add(queued, 0, 0, 12'288, reads)
                              .split(10, 0, 4096, 8)
                              .add(issued, 20, 0, 4096, reads)
                              .add(queued, 30, 8, 8192, reads)
                              .split(40, 8, 4096, 16)
                              .add(issued, 50, 8, 4096, reads)
                              .add(queued, 60, 16, 4096, reads)
                              .add(issued, 70, 16, 4096, reads)
                              .add(completed, 900, 0, 4096, reads)
                              .add(completed, 1000, 16, 4096, reads)
                              .add(completed, 1100, 8, 4096, reads)
                              .requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].bytes, 12'288u);
    EXPECT_EQ(requests[0].started, 21);
    EXPECT_EQ(requests[0].finished, 1101);
}

// The same bytes are asked for twice: that is no rest.
TEST(BlktraceReader, AnEqualRequestBesideASplitOneIsARequest) {
    const auto requests = KernelEvents()
                              .add(queued, 0, 0, 8192, reads)
                              .split(10, 0, 4096, 8)
                              .add(queued, 30, 0, 8192, reads)
                              .requests();
    EXPECT_EQ(requests.size(), 2u);
}

TEST(BlktraceReader, ARequestThatIsQueuedAgainStartsLater) {
    const auto requests = KernelEvents()
                              .add(queued, 0, 0, 4096)
                              .add(issued, 100, 0, 4096)
                              .add(requeue, 200, 0, 4096)
                              .add(issued, 700, 0, 4096)
                              .add(completed, 900, 0, 4096)
                              .requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].started, 701);
}

TEST(BlktraceReader, WhatIsNotInTheFileIsUnknownAndCounted) {
    const auto trace = KernelEvents()
                           .add(completed, 1, 800, 4096)  // began before
                           .add(queued, 100, 0, 4096)
                           .lose()
                           .add(completed, 900, 0, 4096)
                           .add(issued, 1000, 64, 4096)  // no Q
                           .add(completed, 2000, 64, 4096)
                           .add(queued, 3000, 128, 4096)
                           .add(issued, 3100, 128, 4096)  // no C
                           .read();
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 3u);
    EXPECT_EQ(trace->requests[0].started, 0);
    EXPECT_EQ(trace->requests[0].finished, 901);
    EXPECT_EQ(trace->requests[1].entered(), 0);
    EXPECT_EQ(trace->requests[1].started, 1001);
    EXPECT_EQ(trace->requests[2].finished, 0);
    const auto says = [&](std::string_view words) {
        return std::ranges::any_of(trace->notes, [&](const std::string& note) {
            return note.find(words) != std::string::npos;
        });
    };
    EXPECT_TRUE(says("1 request has no event Q: it begins with its D"));
    EXPECT_TRUE(says("1 event C is of a request that is not in the file"));
    EXPECT_TRUE(says("1 event is missing"));
}

// Nobody can say which of the two the event C is of.
TEST(BlktraceReader, RequestsThatCannotBeToldApartHaveNoEnd) {
    const auto requests = KernelEvents()
                              .add(queued, 0, 0, 4096)
                              .add(issued, 100, 0, 4096)
                              .add(queued, 1000, 0, 4096)
                              .add(issued, 1100, 0, 4096)
                              .add(completed, 2000, 0, 4096)
                              .requests();
    ASSERT_EQ(requests.size(), 2u);
    for (const Request& each : requests) EXPECT_EQ(each.finished, 0);
}

// As ext4's journal on a disk without FUA of its own: D and C of the kernel's flush are no writes.
TEST(BlktraceReader, AWriteWithPreflushIsAFlushAndAWrite) {
    constexpr uint32_t flush = blktrace::flush_bit;
    const auto requests = KernelEvents()
                              .add(queued, 0, 64, 1024, writes | flush | fua)
                              .add(issued, 100, 0, 0, flush)
                              .add(completed, 400, 0, 0, flush)
                              .add(issued, 500, 64, 1024)
                              .add(completed, 600, 64, 1024)
                              .add(issued, 700, 0, 0, flush)
                              .add(completed, 800, 0, 0, flush)
                              .add(completed, 810, 64, 0)
                              .requests();
    ASSERT_EQ(requests.size(), 2u);
    EXPECT_EQ(requests[0].op, Op::flush);
    EXPECT_EQ(requests[0].started, 101);
    EXPECT_EQ(requests[0].finished, 401);
    EXPECT_EQ(requests[1].op, Op::write);
    EXPECT_EQ(requests[1].flags, flag::fua);
    EXPECT_EQ(requests[1].bytes, 1024u);
    EXPECT_EQ(requests[1].finished, 811);
}

// The flush before a write has no last event without bytes, as the flush of fsync(2) has. Taken from
// Linux 6.18: a journal's commit, then an fsync.
TEST(BlktraceReader, AFlushBeforeAWriteEndsWithoutALastEvent) {
    constexpr uint32_t flush = blktrace::flush_bit;
    const auto requests = KernelEvents()
                              .add(queued, 0, 64, 1024, writes | flush)
                              .add(issued, 100, 0, 0, flush)
                              .add(completed, 400, 0, 0, flush)
                              .add(issued, 500, 64, 1024)
                              .add(completed, 600, 64, 1024)
                              .add(completed, 610, 64, 0)
                              .add(queued, 5'000'000, 0, 0, writes | flush)
                              .add(issued, 5'000'100, 0, 0, flush)
                              .add(completed, 5'000'400, 0, 0, flush)
                              .add(completed, 5'000'410, 0, 0)
                              .requests();
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_EQ(requests[0].finished, 401);
    EXPECT_EQ(requests[1].finished, 611);
    EXPECT_EQ(requests[2].finished, 5'000'411);
}

// Linux 4.4 has one flush for two of fsync(2), and counts it as a write.
TEST(BlktraceReader, AFlushForSeveralEndsThemAll) {
    constexpr uint32_t flush = blktrace::flush_bit;
    const auto requests = KernelEvents()
                              .add(queued, 0, 0, 0, writes | flush)
                              .add(queued, 50, 0, 0, writes | flush)
                              .add(issued, 100, UINT64_MAX, 0, writes | flush)
                              .add(completed, 400, UINT64_MAX, 0, writes | flush)
                              .add(completed, 410, 0, 0)
                              .add(completed, 420, 0, 0)
                              .requests();
    ASSERT_EQ(requests.size(), 2u);
    for (const Request& each : requests) EXPECT_EQ(each.started, 101);
    EXPECT_EQ(requests[0].finished, 411);
    EXPECT_EQ(requests[1].finished, 421);
}

// As our own files have them, with a client's number in the place of the process.
TEST(BlktraceReader, AFlushOfAServerEndsForItsClient) {
    Trace trace;
    trace.requests = {{.queued = 10, .started = 20, .finished = 900, .client = 1, .op = Op::flush},
                      {.queued = 30, .started = 40, .finished = 100, .client = 2, .op = Op::flush}};
    const std::string file = to_blktrace(trace).at(0);
    const auto again = decode_any(std::as_bytes(std::span(file)));
    ASSERT_TRUE(again.has_value()) << again.error();
    ASSERT_EQ(again->requests.size(), 2u);
    EXPECT_EQ(again->requests[0].finished - again->requests[0].started, 880);
    EXPECT_EQ(again->requests[1].finished - again->requests[1].started, 60);
}

// Linux before 4.20 writes a flush's sector as -1.
TEST(BlktraceReader, NoticesAndFlushesHaveNoSector) {
    constexpr uint32_t flush = blktrace::flush_bit;
    const auto requests = KernelEvents()
                              .notice(0)
                              .add(queued, 10, 0, 0, writes | flush)
                              .add(issued, 100, UINT64_MAX, 0, flush)
                              .add(completed, 400, UINT64_MAX, 0, flush)
                              .add(completed, 410, 0, 0)
                              .requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].offset, 0u);
    EXPECT_EQ(requests[0].started, 101);
    EXPECT_EQ(requests[0].finished, 411);
}

TEST(BlktraceReader, ATransferBeyondTheLastAddressIsDamage) {
    const auto trace = KernelEvents().add(queued, 10, UINT64_MAX - 7, 4096).read();
    ASSERT_FALSE(trace.has_value());
    EXPECT_EQ(trace.error(), "damaged at byte 0: an event beyond the last address");
}

TEST(BlktraceReader, AnEventOfACgroupIsAnEvent) {
    const auto requests = KernelEvents()
                              .add(queued | in_cgroup, 0, 0, 4096)
                              .add(issued | in_cgroup, 100, 0, 4096)
                              .add(completed | in_cgroup, 900, 0, 4096)
                              .requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].finished, 901);
}

TEST(BlktraceReader, OfSeveralDevicesOneIsNamed) {
    const KernelEvents both = KernelEvents()
                                  .add(queued, 0, 0, 4096)
                                  .add(queued, 10, 0, 512, writes, 8U << 20 | 16)
                                  .add(issued, 20, 0, 512, writes, 8U << 20 | 16);
    const auto refused = both.read();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(),
              "has several devices: 8:0 (1 event), 8:16 (2 events); name one with --device");
    for (const char* name : {"8:16", "8,16"}) {
        const auto one = both.read(name);
        ASSERT_TRUE(one.has_value()) << one.error();
        ASSERT_EQ(one->requests.size(), 1u);
        EXPECT_EQ(one->requests[0].bytes, 512u);
        EXPECT_EQ(one->properties.at("device"), "8:16");
    }
    EXPECT_FALSE(both.read("8:32").has_value());
}

// As `blktrace -a issue` leaves it out.
TEST(BlktraceReader, WithoutEventsCEachDIsARequest) {
    const auto trace = KernelEvents()
                           .add(issued, 100, 0, 4096)
                           .add(issued, 200, 8, 4096)
                           .add(issued, 300, 0, 4096)
                           .add(issued, 400, 0, 8192)
                           .read();
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 4u);
    EXPECT_EQ(trace->requests[0].started, 101);
    EXPECT_EQ(trace->requests[2].started, 301);
    EXPECT_EQ(trace->requests[3].bytes, 8192u);
    EXPECT_EQ(trace->notes.front(), "4 requests have no event Q: they begin with their D");
}

// The files of two processors, the one that ended the request first.
TEST(BlktraceReader, StepsOfOneMomentAreInTheirOrder) {
    const auto requests = KernelEvents()
                              .add(completed, 100, 0, 4096)
                              .add(issued, 100, 0, 4096)
                              .add(queued, 100, 0, 4096)
                              .requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].started, 101);
    EXPECT_EQ(requests[0].finished, 101);
}

// blktrace was killed, or the power failed and left zeroes.
TEST(BlktraceReader, WhatIsWholeOfACutFileIsTaken) {
    const KernelEvents events = KernelEvents()
                                    .add(queued, 0, 0, 4096)
                                    .add(issued, 100, 0, 4096)
                                    .add(completed, 900, 0, 4096)
                                    .add(queued, 1000, 8, 4096);
    const std::string file = events.file();
    const size_t event_bytes = file.size() / 4;
    const std::string whole = file.substr(0, 3 * event_bytes);
    for (const std::string& cut :
         {file.substr(0, file.size() - 1), file.substr(0, whole.size() + 3),
          whole + std::string(2 * event_bytes, '\0')}) {
        const auto trace = decode_any(std::as_bytes(std::span(cut)));
        ASSERT_TRUE(trace.has_value()) << trace.error();
        ASSERT_EQ(trace->requests.size(), 1u);
        EXPECT_EQ(trace->requests[0].finished, 901);
        EXPECT_EQ(trace->notes.front(), "the file is cut off: its last " +
                                            std::to_string(cut.size() - whole.size()) +
                                            " bytes are no whole event, and are left out");
    }
    const std::string noise = whole + "no event";
    const auto refused = decode_any(std::as_bytes(std::span(noise)));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), "damaged at byte 144: an event without its magic");
}

TEST(BlktraceReader, AnotherVersionIsNamed) {
    for (const size_t last : {size_t{0}, size_t{3}}) {
        std::string file = KernelEvents().add(queued, 0, 0, 4096).file();
        if (last == 3) std::reverse(file.begin(), file.begin() + 4);
        file[last] = 8;
        const auto refused = decode_any(std::as_bytes(std::span(file)));
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error(), "a file of blktrace, version 8; only version 7 is read");
    }
}

TEST(BlktraceReader, TheOtherByteOrderIsRead) {
    const std::string file = KernelEvents().add(queued, 5, 8, 4096).file();
    std::string swapped;
    size_t at = 0;
    for (const unsigned width : {4U, 4U, 8U, 8U, 4U, 4U, 4U, 4U, 4U, 2U, 2U}) {
        std::string field = file.substr(at, width);
        std::ranges::reverse(field);
        swapped += field;
        at += width;
    }
    const auto trace = decode_any(std::as_bytes(std::span(swapped)));
    ASSERT_TRUE(trace.has_value()) << trace.error();
    ASSERT_EQ(trace->requests.size(), 1u);
    EXPECT_EQ(trace->requests[0].offset, 4096u);
    EXPECT_EQ(trace->requests[0].received, 6);
}

}  // namespace
}  // namespace blkscope::trace
