// A client's stream, cut at any byte, gives the same requests and the same payloads.
#include "driver/nbd/transmission/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "parser_driver.hpp"

namespace blkscope::nbd {
namespace {

using testing::append_request;
using testing::Event;
using testing::play;
using testing::rules_for;
using testing::Seen;

constexpr uint64_t device_bytes = uint64_t{1} << 30;

constexpr ReplyForm forms[] = {ReplyForm::simple, ReplyForm::structured, ReplyForm::extended};

Request header(Command type, uint64_t offset, uint64_t length, uint64_t cookie = 7,
               uint16_t flags = 0) {
    return {.flags = flags, .type = type, .cookie = cookie, .offset = offset, .length = length};
}

// Appends a write in this form.
void append_write(std::string& to, ReplyForm form, uint64_t offset, const std::string& data,
                  uint64_t cookie = 7) {
    const uint16_t flags = form == ReplyForm::extended ? command_flag::payload_len : uint16_t{0};
    append_request(to, form, header(Command::write, offset, data.size(), cookie, flags));
    to += data;
}

// Each kind of request once.
std::string some_of_all(ReplyForm form) {
    std::string stream;
    append_request(stream, form, header(Command::read, 4096, 512, 1));
    append_write(stream, form, 0, "short", 2);
    append_write(stream, form, 0, std::string(20'000, 'l'), 3);
    append_write(stream, form, device_bytes, "refused", 4);
    append_request(stream, form, header(Command::flush, 0, 0, 5));
    append_write(stream, form, device_bytes - 1, std::string(17'000, 'r'), 6);  // refused, long
    append_request(stream, form, header(Command::write_zeroes, 0, device_bytes, 8));
    append_request(stream, form, header(Command{77}, 0, 1, 9));
    if (form == ReplyForm::extended) {
        append_request(stream, form, header(Command::read, 0, 300, 10, command_flag::payload_len));
        stream += std::string(300, 'x');  // the payload of a refused request
        for (const uint32_t context : {base_allocation_id, base_allocation_id + 1}) {
            append_request(stream, form,
                           header(Command::block_status, 0, status_payload_bytes, 11,
                                  command_flag::payload_len));
            testing::append(stream, uint64_t{4096});
            testing::append(stream, context);
        }
    }
    append_request(stream, form, header(Command::disc, 0, 0, 12));
    return stream;
}

TEST(Parser, TellsARequestAndKeepsItUntilItIsTaken) {
    for (const ReplyForm form : forms) {
        Parser parser(rules_for(form, device_bytes));
        std::string stream;
        append_request(stream, form, header(Command::read, 512, 4096, 99));
        ASSERT_EQ(parser.next(), Event::need_bytes);
        EXPECT_TRUE(parser.is_between_requests());
        testing::give(parser, stream);
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(parser.next(), Event::request);
            EXPECT_EQ(parser.incoming().header, header(Command::read, 512, 4096, 99));
            EXPECT_EQ(parser.incoming().refusal, 0);
            EXPECT_FALSE(parser.is_between_requests());
        }
        parser.take(nullptr);
        EXPECT_EQ(parser.next(), Event::need_bytes);
        EXPECT_TRUE(parser.is_between_requests());
    }
}

TEST(Parser, ByteByByteIsTheSameAsInOnePiece) {
    for (const ReplyForm form : forms) {
        const std::string stream = some_of_all(form);
        const RequestRules rules = rules_for(form, device_bytes);
        const std::vector<Seen> whole = play(rules, stream, [&] { return stream.size(); });
        EXPECT_EQ(whole.back().event, Event::disconnect);
        EXPECT_EQ(std::count_if(whole.begin(), whole.end(),
                                [](const Seen& seen) { return seen.event == Event::request; }),
                  form == ReplyForm::extended ? 11 : 8);
        EXPECT_EQ(play(rules, stream, [] { return size_t{1}; }), whole);
        std::mt19937 random(20261122);
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(play(rules, stream, [&] { return 1 + random() % 5000; }), whole);
        }
    }
}

TEST(Parser, APayloadIsReceivedInItsPlace) {
    Parser parser(rules_for(ReplyForm::simple, device_bytes));
    const std::string data(100'000, 'd');
    std::string stream;
    append_request(stream, ReplyForm::simple, header(Command::write, 0, data.size()));
    testing::give(parser, stream);
    ASSERT_EQ(parser.next(), Event::request);
    std::vector<std::byte> place(data.size());
    parser.take(place.data());
    EXPECT_TRUE(parser.is_in_payload());
    EXPECT_EQ(parser.payload_bytes(), data.size());
    ASSERT_EQ(parser.next(), Event::need_bytes);
    const auto places = parser.places();
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[0].iov_base, place.data());
    EXPECT_EQ(places[0].iov_len, data.size());
    // After a large write there is room for one header, so the next payload is received in place
    // too.
    EXPECT_EQ(places[1].iov_len, request_bytes);
    EXPECT_TRUE(parser.expects_large_write());
    parser.received(data.size() - 1);
    ASSERT_EQ(parser.next(), Event::need_bytes);
    EXPECT_EQ(parser.places()[0].iov_base, place.data() + data.size() - 1);
    EXPECT_EQ(parser.places()[0].iov_len, 1u);
    parser.received(1);
    EXPECT_EQ(parser.next(), Event::payload_complete);
    EXPECT_FALSE(parser.is_in_payload());
    // Behind a part of that header there is room for the rest of it.
    const std::string part = stream.substr(0, 10);
    std::memcpy(parser.places()[0].iov_base, part.data(), part.size());
    parser.received(part.size());
    ASSERT_EQ(parser.next(), Event::need_bytes);
    EXPECT_EQ(parser.places()[0].iov_len, request_bytes - part.size());
}

TEST(Parser, BehindASmallWriteThereIsRoomForManyRequests) {
    Parser parser(rules_for(ReplyForm::simple, device_bytes));
    std::string stream;
    append_request(stream, ReplyForm::simple,
                   header(Command::write, 0, Parser::large_write_bytes - 1));
    testing::give(parser, stream);
    ASSERT_EQ(parser.next(), Event::request);
    std::vector<std::byte> place(Parser::large_write_bytes);
    parser.take(place.data());
    ASSERT_EQ(parser.next(), Event::need_bytes);
    EXPECT_EQ(parser.places()[1].iov_len, Parser::rx_bytes_max);
    EXPECT_FALSE(parser.expects_large_write());
}

TEST(Parser, AStatusPayloadIsPartOfItsRequest) {
    const RequestRules rules = rules_for(ReplyForm::extended, device_bytes);
    std::string stream;
    append_request(
        stream, ReplyForm::extended,
        header(Command::block_status, 4096, status_payload_bytes, 3, command_flag::payload_len));
    const size_t head = stream.size();
    testing::append(stream, uint64_t{65536});
    testing::append(stream, base_allocation_id);
    Parser parser(rules);
    testing::give(parser, stream.substr(0, head));
    EXPECT_EQ(parser.next(), Event::need_bytes);
    EXPECT_FALSE(parser.is_between_requests());
    testing::give(parser, stream.substr(head));
    ASSERT_EQ(parser.next(), Event::request);
    EXPECT_EQ(parser.incoming().refusal, 0);
    EXPECT_EQ(parser.incoming().payload_bytes, 0u);
    EXPECT_EQ(parser.incoming().header, header(Command::block_status, 4096, 65536, 3));
}

TEST(Parser, TheLargestLengthsAreRefusedAndOnlyTheLongestEndTheStream) {
    for (const ReplyForm form : forms) {
        const uint64_t most = form == ReplyForm::extended ? ~uint64_t{0} : 0xffffffff;
        const uint16_t flags =
            form == ReplyForm::extended ? command_flag::payload_len : uint16_t{0};
        for (const uint64_t length : {most, Parser::skip_bytes_max + 1, Parser::skip_bytes_max}) {
            Parser parser(rules_for(form, device_bytes));
            std::string stream;
            append_request(stream, form, header(Command::write, ~uint64_t{0}, length, 1, flags));
            testing::give(parser, stream);
            ASSERT_EQ(parser.next(), Event::request);
            EXPECT_EQ(parser.incoming().refusal, EINVAL);
            EXPECT_EQ(parser.incoming().payload_bytes, length);
            EXPECT_EQ(parser.incoming().ends_stream, length > Parser::skip_bytes_max);
            parser.take(nullptr);
            EXPECT_EQ(parser.is_in_payload(), length == Parser::skip_bytes_max);
        }
        Parser parser(rules_for(form, device_bytes));
        std::string stream;
        append_request(stream, form, header(Command::read, ~uint64_t{0}, most));
        testing::give(parser, stream);
        ASSERT_EQ(parser.next(), Event::request);
        EXPECT_NE(parser.incoming().refusal, 0);
        EXPECT_EQ(parser.incoming().payload_bytes, 0u);
    }
}

TEST(Parser, AStreamWithoutItsMagicIsLostForGood) {
    for (const ReplyForm form : forms) {
        std::string stream;
        append_request(stream, form, header(Command::read, 0, 512));
        append_request(stream,
                       form == ReplyForm::extended ? ReplyForm::simple : ReplyForm::extended,
                       header(Command::read, 0, 512));
        stream += std::string(64, 'x');
        const auto seen =
            play(rules_for(form, device_bytes), stream, [&] { return stream.size(); });
        ASSERT_EQ(seen.size(), 2u);
        EXPECT_EQ(seen[1].event, Event::lost);
    }
}

TEST(Parser, AClientThatForgetsItsLongerHeadersIsLostAtOnce) {
    std::string compact;
    append_request(compact, ReplyForm::simple, header(Command::read, 0, 512));
    for (const size_t bytes : {size_t{1}, size_t{4}, compact.size()}) {
        Parser parser(rules_for(ReplyForm::extended, device_bytes));
        testing::give(parser, compact.substr(0, bytes));
        EXPECT_EQ(parser.next(), Event::lost) << bytes;
    }
}

TEST(Parser, RandomBytesEndInOrder) {
    std::mt19937 random(20261122);
    for (int i = 0; i < 2000; ++i) {
        const ReplyForm form = forms[random() % 3];
        std::string stream = some_of_all(form).substr(0, random() % 40'000);
        const auto spoilt = random() % 4;
        for (size_t n = 0; n < spoilt && !stream.empty(); ++n) {
            stream[random() % stream.size()] = static_cast<char>(random());
        }
        const RequestRules rules = rules_for(form, device_bytes);
        const auto whole = play(rules, stream, [&] { return stream.size(); });
        EXPECT_EQ(play(rules, stream, [&] { return 1 + random() % 997; }), whole);
    }
}

TEST(Parser, ATruncatedStreamIsTheBeginningOfTheWhole) {
    const std::string stream = some_of_all(ReplyForm::extended);
    const RequestRules rules = rules_for(ReplyForm::extended, device_bytes);
    const auto whole = play(rules, stream, [&] { return stream.size(); });
    for (size_t bytes = 0; bytes < stream.size(); bytes += 1 + bytes / 50) {
        const auto part = play(rules, stream.substr(0, bytes), [&] { return stream.size(); });
        ASSERT_LE(part.size(), whole.size());
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << bytes;
    }
}

}  // namespace
}  // namespace blkscope::nbd
