// The trace file of our own, whole and damaged.
#include "trace/file.hpp"

#include <gtest/gtest.h>

#include <boost/crc.hpp>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "requests.hpp"
#include "trace/record.hpp"

namespace blkscope::trace {
namespace {

std::string trouble(const std::string& file) {
    const auto trace = decode_file(std::as_bytes(std::span(file)));
    return trace ? "none" : trace.error();
}

TEST(TraceFile, HasAllOfItsTrace) {
    const Trace trace = trace_of_all();
    const std::string file = encode_file(trace);
    const auto read = decode_file(std::as_bytes(std::span(file)));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->properties, trace.properties);
    EXPECT_EQ(read->lost, 7u);
    EXPECT_EQ(read->realtime_ns, trace.realtime_ns);
    EXPECT_EQ(read->requests, trace.requests);
}

TEST(TraceFile, IsTheSameOnEveryMachine) {
    const std::string file = encode_file(trace_of_all());
    EXPECT_EQ(file.substr(0, 16), std::string("\x89"
                                              "BLKSC\r\n\x04\x03\x02\x01\x02\0\0\0",
                                              16));
}

// The file of another program, whose first 'X' is this character, with the checksum of its header.
std::string with_character(std::string file, char character) {
    constexpr size_t crc_at = 52;
    file.at(file.find('X')) = character;
    auto* const at = reinterpret_cast<std::byte*>(file.data());
    put(at + crc_at, uint32_t{0});
    boost::crc_32_type crc;
    crc.process_bytes(at, get<uint32_t>(at + 16));
    put(at + crc_at, static_cast<uint32_t>(crc.checksum()));
    return file;
}

// A stranger's header is shown on terminals.
TEST(TraceFile, HasNoControlCharactersInItsHeader) {
    Trace trace = trace_of_all();
    trace.properties["model"] = "read=exp:1msX[31m";
    const std::string file = encode_file(trace);
    EXPECT_NE(trouble(with_character(file, '\x1b')).find("control characters"), std::string::npos);
    EXPECT_EQ(trouble(with_character(file, 'Y')), "none");
    EXPECT_FALSE(may_have({{"model", "\x1b[31m"}}));
    EXPECT_FALSE(may_have({{"mo=del", "exp"}}));
    trace.properties["model"] = "\xc3\xa9";
    EXPECT_EQ(trouble(encode_file(trace)), "none");
}

TEST(TraceFile, MayBeEmpty) {
    EXPECT_EQ(trouble(encode_file({})), "none");
}

TEST(TraceFile, IsInTheOrderOfArrival) {
    Trace trace;
    for (const int64_t at : {300, 100, 200}) trace.requests.push_back(request_at(at));
    const std::string file = encode_file(trace);
    const auto read = decode_file(std::as_bytes(std::span(file)));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->requests.front().received, 100);
    EXPECT_EQ(read->requests.back().received, 300);
}

TEST(TraceFile, ThatIsCutAnywhereIsRefused) {
    const std::string file = encode_file(trace_of_all());
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
        EXPECT_NE(trouble(file.substr(0, bytes)), "none") << bytes;
    }
    EXPECT_EQ(trouble(file.substr(0, file.size() - 1)), "cut off: it should have 7 requests");
    EXPECT_EQ(trouble(file + "x"), "has bytes behind its end");
}

TEST(TraceFile, WithAnyBitChangedIsRefused) {
    const std::string file = encode_file(trace_of_all());
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
        std::string changed = file;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        EXPECT_NE(trouble(changed), "none") << bit;
    }
}

// Two records that changed places fit no checksum.
TEST(TraceFile, ThatIsReorderedIsRefused) {
    std::string file = encode_file(trace_of_all());
    const size_t records = file.size() - 16 - 7 * record_bytes;
    std::swap_ranges(file.begin() + static_cast<ptrdiff_t>(records),
                     file.begin() + static_cast<ptrdiff_t>(records + record_bytes),
                     file.begin() + static_cast<ptrdiff_t>(records + record_bytes));
    EXPECT_EQ(trouble(file), "damaged: its requests do not fit their checksum");
}

TEST(TraceFile, OfAnotherByteOrderVersionOrKindSaysSo) {
    std::string swapped = encode_file(trace_of_all());
    swapped.replace(8, 4, "\x01\x02\x03\x04");
    EXPECT_EQ(trouble(swapped), "written with another byte order");
    std::string later = encode_file(trace_of_all());
    later[12] = 3;
    EXPECT_EQ(trouble(later), "has version 3, and this program reads version 1 to 2");
    later[12] = 0;
    EXPECT_EQ(trouble(later), "has version 0, and this program reads version 1 to 2");
    EXPECT_EQ(trouble("fio version 2 iolog\n"),
              "not a blkscope trace (or one that was transferred in text mode)");
    std::string text = encode_file(trace_of_all());
    text.erase(6, 1);  // the carriage return
    EXPECT_EQ(trouble(text), "not a blkscope trace (or one that was transferred in text mode)");
}

// A file as version 1 has written it, with one request.
std::string file_of_version_1() {
    constexpr std::string_view hex =
        "89424c4b53430d0a040302010100000038000000580000000100000000000000000000000000000000000000"
        "0000000000000000ffaa4c0fe803000000000000f20300000000000006040000000000002404000000000000"
        "4c04000000000000190000000000000000200000000000000010000000000000030000000200000005000000"
        "0100050001010000000000000a424c4b454e440ae12db34a00000000";
    std::string file;
    for (size_t i = 0; i < hex.size(); i += 2) {
        const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
        file += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
    }
    return file;
}

TEST(TraceFile, OfVersion1IsReadWithoutCookies) {
    const std::string file = file_of_version_1();
    const auto read = decode_file(std::as_bytes(std::span(file)));
    ASSERT_TRUE(read.has_value()) << read.error();
    ASSERT_EQ(read->requests.size(), 1u);
    Request expected = request_at(1000, Op::write);
    expected.cookie = expected.upstream_cookie = 0;
    expected.error = 5;
    expected.flags = flag::fua;
    EXPECT_EQ(read->requests.front(), expected);
}

TEST(TraceFile, OfVersion1ThatIsDamagedIsRefused) {
    const std::string file = file_of_version_1();
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
        EXPECT_NE(trouble(file.substr(0, bytes)), "none") << bytes;
    }
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
        std::string changed = file;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        EXPECT_NE(trouble(changed), "none") << bit;
    }
}

// The checksums of a hostile file are right.
TEST(TraceFile, OfRequestsThatCannotBeIsRefused) {
    const auto refused = [](auto change) {
        Trace trace = trace_of_all();
        change(trace.requests[2]);
        return trouble(encode_file(trace));
    };
    EXPECT_EQ(refused([](Request& each) { each.op = static_cast<Op>(99); }),
              "request 3: an unknown operation");
    EXPECT_EQ(refused([](Request& each) { each.flags = 0x80; }), "request 3: an unknown flag");
    EXPECT_EQ(refused([](Request& each) { each.finished = each.started - 1; }),
              "request 3: the times of a request run backwards");
    EXPECT_EQ(refused([](Request& each) {
                  each.offset = UINT64_MAX;
                  each.bytes = 2;
              }),
              "request 3: a request beyond the last address");
    // Without an arrival it is sorted to the front.
    EXPECT_EQ(refused([](Request& each) { each.received = each.queued = each.started = 0; }),
              "request 1: a request without a time of arrival");
}

// What another program did not record stays unknown in a file of our own.
TEST(TraceFile, UnknownStampsStayUnknown) {
    Trace trace;
    for (const auto stamp : {&Request::received, &Request::queued, &Request::started,
                             &Request::finished, &Request::replied}) {
        trace.requests.push_back(request_at(1000));
        trace.requests.back().*stamp = 0;
    }
    trace.requests.push_back({.started = 2000, .bytes = 512});
    trace.requests.push_back({.received = 3000, .bytes = 512});
    const std::vector<Request> requests = trace.requests;
    const std::string file = encode_file(trace);
    const auto read = decode_file(std::as_bytes(std::span(file)));
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_TRUE(std::ranges::is_permutation(read->requests, requests));
    EXPECT_FALSE(read->requests.back().has_total());
    trace.requests = {{.received = 9, .finished = 8, .bytes = 1}};
    EXPECT_EQ(trouble(encode_file(trace)), "request 1: the times of a request run backwards");
}

TEST(TraceRecord, OfARequestWithoutAConnectionOrReplyIsWhole) {
    Request request = request_at(50);
    request.received = request.replied = 0;
    std::array<std::byte, record_bytes> bytes{};
    encode(request, bytes);
    const auto read = decode(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, request);
}

}  // namespace
}  // namespace blkscope::trace
