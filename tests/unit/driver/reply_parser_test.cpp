#include "driver/nbd/client/reply_parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace blkscope::nbd {
namespace {

using Bytes = std::vector<std::byte>;
using ReplyEvent = ReplyParser::Event;

constexpr uint64_t read_cookie = 1;
constexpr uint64_t write_cookie = 2;
constexpr uint64_t status_cookie = 3;
constexpr uint32_t context = 7;

class ReplyParserTest : public ::testing::Test, protected OwedReplies {
  protected:
    ReplyParserTest() {
        read_.request = {.flags = 0,
                         .type = Command::read,
                         .cookie = read_cookie,
                         .offset = 4096,
                         .length = 8192};
        read_.data = memory_.data();
        write_.request = {
            .flags = 0, .type = Command::write, .cookie = write_cookie, .offset = 0, .length = 512};
        status_.request = {.flags = 0,
                           .type = Command::block_status,
                           .cookie = status_cookie,
                           .offset = 0,
                           .length = 65536};
    }

    OwedReply* find(uint64_t cookie) override {
        for (OwedReply* each : {&read_, &write_, &status_}) {
            if (each->request.cookie == cookie) return each;
        }
        return nullptr;
    }

    template <class T>
    static void number(Bytes& to, T value) {
        std::array<std::byte, sizeof(T)> bytes{};
        store_be<T>(bytes, value);
        to.insert(to.end(), bytes.begin(), bytes.end());
    }
    static Bytes simple(uint64_t cookie, Error error, size_t data = 0) {
        Bytes bytes(simple_reply_bytes);
        encode_simple_reply(std::span<std::byte>(bytes).first<simple_reply_bytes>(), error, cookie);
        bytes.resize(bytes.size() + data, std::byte{'s'});
        return bytes;
    }
    static Bytes chunk(uint64_t cookie, Chunk type, const Bytes& payload, bool done = true) {
        Bytes bytes(structured_reply_bytes);
        encode_structured_chunk(std::span<std::byte>(bytes).first<structured_reply_bytes>(),
                                {.flags = done ? chunk_flag::done : uint16_t{0},
                                 .type = type,
                                 .cookie = cookie,
                                 .bytes = payload.size()});
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        return bytes;
    }
    static Bytes data_at(uint64_t offset, size_t bytes, char fill) {
        Bytes payload;
        number(payload, offset);
        payload.resize(payload.size() + bytes, static_cast<std::byte>(fill));
        return payload;
    }
    static Bytes error(uint32_t error, const std::string& text) {
        Bytes payload;
        number(payload, error);
        number(payload, static_cast<uint16_t>(text.size()));
        for (const char c : text) payload.push_back(static_cast<std::byte>(c));
        return payload;
    }

    /// Feeds the pieces, and lists the cookies that were answered. The last is 0 if the stream makes
    /// no sense.
    std::vector<uint64_t> feed(ReplyForm form, const std::vector<Bytes>& pieces,
                               size_t at_once = SIZE_MAX) {
        ReplyParser parser(form, context, *this);
        std::vector<uint64_t> answered;
        for (const Bytes& each : pieces) {
            std::span<const std::byte> rest(each);
            while (!rest.empty()) {
                const auto place = parser.place();
                const size_t bytes = std::min({place.size(), rest.size(), at_once});
                std::memcpy(place.data(), rest.data(), bytes);
                parser.received(bytes);
                rest = rest.subspan(bytes);
                ReplyEvent event = parser.next();
                for (; event == ReplyEvent::answered; event = parser.next()) {
                    answered.push_back(parser.answered().request.cookie);
                    parser.answered().request.cookie = 0;
                }
                if (event != ReplyEvent::lost) continue;
                why_ = parser.why();
                answered.push_back(0);
                return answered;
            }
        }
        EXPECT_TRUE(parser.is_between_replies());
        return answered;
    }
    std::string lost_after(ReplyForm form, const std::vector<Bytes>& pieces) {
        const auto answered = feed(form, pieces);
        EXPECT_FALSE(answered.empty());
        EXPECT_EQ(answered.empty() ? 1 : answered.back(), 0u);
        return why_;
    }

    std::array<std::byte, 8192> memory_{};
    OwedReply read_;
    OwedReply write_;
    OwedReply status_;
    std::string why_;
};

using Answered = std::vector<uint64_t>;

TEST_F(ReplyParserTest, TakesSimpleRepliesInAnyOrderAndAnyPieces) {
    for (const size_t at_once : {SIZE_MAX, size_t{1}, size_t{5000}}) {
        read_.request.cookie = read_cookie;
        write_.request.cookie = write_cookie;
        read_.covered = 0;
        memory_.fill({});
        EXPECT_EQ(
            feed(ReplyForm::simple,
                 {simple(write_cookie, Error::enospc), simple(read_cookie, Error::none, 8192)},
                 at_once),
            (Answered{write_cookie, read_cookie}));
        EXPECT_EQ(write_.error, static_cast<uint32_t>(Error::enospc));
        EXPECT_TRUE(std::ranges::all_of(memory_, [](std::byte b) { return b == std::byte{'s'}; }));
    }
}

TEST_F(ReplyParserTest, PutsTheChunksOfAReadWhereTheyBelong) {
    memory_.fill(std::byte{'?'});
    Bytes hole;
    number(hole, uint64_t{4096 + 5000});
    number(hole, uint32_t{8192 - 5000});
    EXPECT_EQ(feed(ReplyForm::structured,
                   {chunk(read_cookie, Chunk::offset_hole, hole, false),
                    simple(write_cookie, Error::none),
                    chunk(read_cookie, Chunk::offset_data, data_at(4096, 5000, 'd'))}),
              (Answered{write_cookie, read_cookie}));
    EXPECT_EQ(memory_[4999], std::byte{'d'});
    EXPECT_EQ(memory_[5000], std::byte{0});
    EXPECT_EQ(memory_[8191], std::byte{0});
}

// Only a read must be answered in chunks.
TEST_F(ReplyParserTest, TakesASimpleFailureOfAStatusThoughChunksWereAgreed) {
    EXPECT_EQ(feed(ReplyForm::structured, {simple(status_cookie, Error::einval)}),
              Answered{status_cookie});
    EXPECT_EQ(status_.error, static_cast<uint32_t>(Error::einval));
}

// The memory of a read is another client's of before.
TEST_F(ReplyParserTest, LeavesNoOldBytesWhereAPieceComesTwice) {
    Bytes hole;
    number(hole, uint64_t{4096});
    number(hole, uint32_t{4096});
    const Bytes data = data_at(4096, 4096, 'd');
    const auto old_bytes = [&](Chunk type, const Bytes& payload) {
        memory_.fill(std::byte{'?'});
        read_.request.cookie = read_cookie;
        read_.covered = 0;
        EXPECT_EQ(feed(ReplyForm::structured, {chunk(read_cookie, type, payload, false),
                                               chunk(read_cookie, type, payload)}),
                  (Answered{read_cookie}));
        return std::ranges::count(memory_, std::byte{'?'});
    };
    EXPECT_EQ(old_bytes(Chunk::offset_data, data), 0);
    EXPECT_EQ(memory_[4095], std::byte{'d'});
    EXPECT_EQ(old_bytes(Chunk::offset_hole, hole), 0);
}

TEST_F(ReplyParserTest, KeepsTheFirstErrorOfARead) {
    EXPECT_EQ(feed(ReplyForm::structured,
                   {chunk(read_cookie, Chunk::error, error(5, "bad sector"), false),
                    chunk(read_cookie, Chunk::error, error(28, ""), false),
                    chunk(read_cookie, Chunk::none, {})}),
              (Answered{read_cookie}));
    EXPECT_EQ(read_.error, 5u);
}

TEST_F(ReplyParserTest, TakesAStatusOfItsContextOnce) {
    Bytes status;
    number(status, context);
    for (int i = 0; i < 2; ++i) {
        number(status, uint32_t{32768});
        number(status, uint32_t{0});
    }
    EXPECT_EQ(feed(ReplyForm::structured, {chunk(status_cookie, Chunk::block_status, status)}),
              (Answered{status_cookie}));
    EXPECT_TRUE(status_.has_status);
}

// The last extent is longer than the request, and the one behind it describes nothing.
TEST_F(ReplyParserTest, ListsTheExtentsOfAStatusUpToItsEnd) {
    std::array<Extent, 4> memory{};
    ExtentList list(memory);
    status_.extents = &list;
    Bytes status;
    number(status, context);
    for (const uint32_t value : {4096u, 0u, 4096u, 3u, 8192u, 2u, 1u << 20, 1u, 512u, 0u}) {
        number(status, value);
    }
    EXPECT_EQ(feed(ReplyForm::structured, {chunk(status_cookie, Chunk::block_status, status)}),
              (Answered{status_cookie}));
    EXPECT_EQ(status_.covered, 65536u);
    const std::vector<Extent> expected{
        {4096, false}, {4096, true}, {8192, false, true}, {49152, true, false}};
    EXPECT_EQ(std::vector<Extent>(list.items().begin(), list.items().end()), expected);
    EXPECT_FALSE(list.full());
}

TEST_F(ReplyParserTest, IsLostAfterAnExtentWithoutALength) {
    Bytes status;
    number(status, context);
    number(status, uint64_t{0});
    EXPECT_EQ(
        lost_after(ReplyForm::structured, {chunk(status_cookie, Chunk::block_status, status)}),
        "the server sends an impossible extent");
}

TEST_F(ReplyParserTest, IsLostAfterAnAnswerToNoRequest) {
    EXPECT_EQ(lost_after(ReplyForm::simple, {simple(99, Error::none)}),
              "the server answers a request that was not sent");
    EXPECT_EQ(lost_after(ReplyForm::simple,
                         {simple(write_cookie, Error::none), simple(write_cookie, Error::none)}),
              "the server answers a request that was not sent");
}

TEST_F(ReplyParserTest, IsLostAfterDataBesideTheRequest) {
    const std::string why = "the server sends data that was not asked";
    const auto lost = [&](uint64_t offset, size_t bytes) {
        read_.covered = 0;
        return lost_after(ReplyForm::structured,
                          {chunk(read_cookie, Chunk::offset_data, data_at(offset, bytes, 'd'))});
    };
    EXPECT_EQ(lost(4095, 10), why);
    EXPECT_EQ(lost(4096 + 8192, 1), why);
    EXPECT_EQ(lost(4096 + 8000, 193), why);
    EXPECT_EQ(lost(UINT64_MAX, 2), why);
    // The same bytes twice.
    const Bytes half = chunk(read_cookie, Chunk::offset_data, data_at(4096, 5000, 'd'), false);
    read_.covered = 0;
    EXPECT_EQ(lost_after(ReplyForm::structured, {half, half}), why);
}

TEST_F(ReplyParserTest, IsLostAfterAReadWithTooFewBytes) {
    EXPECT_EQ(lost_after(ReplyForm::structured,
                         {chunk(read_cookie, Chunk::offset_data, data_at(4096, 100, 'd'))}),
              "the server answers a read with too few bytes");
}

TEST_F(ReplyParserTest, IsLostAfterAReadWithoutChunks) {
    const std::string why = "the server answers without the chunks that were agreed";
    EXPECT_EQ(lost_after(ReplyForm::structured, {simple(read_cookie, Error::none, 8192)}), why);
    EXPECT_EQ(lost_after(ReplyForm::structured, {simple(read_cookie, Error::einval)}), why);
    EXPECT_EQ(lost_after(ReplyForm::structured, {simple(status_cookie, Error::none)}), why);
}

TEST_F(ReplyParserTest, IsLostAfterErrorsWithoutEnd) {
    const Bytes one = chunk(read_cookie, Chunk::error, error(5, ""), false);
    EXPECT_EQ(
        lost_after(ReplyForm::structured, std::vector<Bytes>(ReplyParser::errors_max + 1, one)),
        "the server's errors have no end");
}

TEST_F(ReplyParserTest, IsLostAfterAChunkOfAWrongLengthOrKind) {
    const std::string unfit = "the server sends a chunk that does not fit its request";
    const auto lost = [&](uint64_t cookie, Chunk type, const Bytes& payload, bool done = true) {
        return lost_after(ReplyForm::structured, {chunk(cookie, type, payload, done)});
    };
    EXPECT_EQ(lost(read_cookie, Chunk::offset_data, Bytes(8)), unfit);
    EXPECT_EQ(lost(read_cookie, Chunk::offset_hole, Bytes(11)), unfit);
    EXPECT_EQ(lost(write_cookie, Chunk::offset_data, Bytes(100)), unfit);
    EXPECT_EQ(lost(status_cookie, Chunk::block_status, Bytes(13)), unfit);
    EXPECT_EQ(lost(status_cookie, Chunk::block_status_ext, Bytes(24)), unfit);
    EXPECT_EQ(lost(read_cookie, Chunk::none, {}, false),
              "the server sends an empty chunk that is not the last one");
    EXPECT_EQ(lost(read_cookie, Chunk{99}, {}), "the server sends a chunk of an unknown type");
    EXPECT_EQ(lost(read_cookie, Chunk::error, Bytes(5)),
              "the server's error has an impossible length");
    EXPECT_EQ(lost(read_cookie, Chunk::error, error(0, "")),
              "the server sends an error without a number");
    EXPECT_EQ(lost_after(ReplyForm::simple, {Bytes(16)}),
              "the server's answer has a wrong magic number");
}

}  // namespace
}  // namespace blkscope::nbd
