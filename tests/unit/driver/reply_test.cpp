// Replies byte for byte: each form, each result, and the descriptors of block status.
#include "driver/nbd/transmission/reply.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "handshake_client.hpp"

namespace blkscope::nbd {
namespace {

using testing::u16;
using testing::u32;
using testing::u64;

constexpr uint64_t cookie = 0xf1e2d3c4b5a69788;
constexpr uint64_t at = uint64_t{1} << 33;
constexpr ReplyForm structured = ReplyForm::structured;
constexpr ReplyForm extended = ReplyForm::extended;

std::string simple(uint32_t error) {
    return u32(0x67446698) + u32(error) + u64(cookie);
}

std::string chunk(uint16_t type, const std::string& payload, uint16_t flags = 1) {
    return u32(0x668e33ef) + u16(flags) + u16(type) + u64(cookie) +
           u32(static_cast<uint32_t>(payload.size())) + payload;
}

std::string wide_chunk(uint16_t type, const std::string& payload, uint16_t flags = 1) {
    return u32(0x6e8a278c) + u16(flags) + u16(type) + u64(cookie) + u64(at) + u64(payload.size()) +
           payload;
}

class Reply : public ::testing::Test {
  protected:
    Reply() {
        request.cookie = cookie;
        request.offset = at;
        request.data = reinterpret_cast<std::byte*>(memory.data());
    }

    /// A finished read of 16 bytes, "a" to "p", with the extents that its backing reported.
    std::string read(ReplyForm form, int error = 0, const std::vector<Extent>& extents = {}) {
        request.command = Command::read;
        request.op = Buf::Op::read;
        request.bcount = 16;
        request.error = error;
        std::memcpy(memory.data(), "abcdefghijklmnop", 16);
        list(request.holes, extents);
        return encoded(form);
    }

    std::string status(ReplyForm form, const std::vector<Extent>& extents) {
        request.command = Command::block_status;
        request.op = Buf::Op::block_status;
        list({reinterpret_cast<Extent*>(memory.data()), status_extents_max}, extents);
        return encoded(form);
    }

    std::string other(Command command, ReplyForm form, int error = 0) {
        request.command = command;
        request.error = error;
        return encoded(form);
    }

    PendingRequest request;

  private:
    void list(std::span<Extent> room, const std::vector<Extent>& extents) {
        request.extents = ExtentList(room);
        for (const Extent& extent : extents) EXPECT_TRUE(request.extents.append(extent));
    }

    std::string encoded(ReplyForm form) {
        iovec pieces[reply_pieces_max];
        encode_reply(request, form);
        const size_t count = list_pieces(request, form, pieces);
        EXPECT_LE(count, reply_pieces_max);
        std::string bytes;
        for (size_t i = 0; i < count; ++i) {
            bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
        }
        return bytes;
    }

    alignas(Extent) std::array<char, status_bytes> memory{};
};

TEST_F(Reply, ASimpleReadIsAHeadAndItsData) {
    EXPECT_EQ(read(ReplyForm::simple), simple(0) + "abcdefghijklmnop");
    EXPECT_EQ(read(ReplyForm::simple, EIO), simple(5));
}

TEST_F(Reply, AReadIsOneChunkOfData) {
    EXPECT_EQ(read(structured), chunk(1, u64(at) + "abcdefghijklmnop"));
    EXPECT_EQ(read(extended), wide_chunk(1, u64(at) + "abcdefghijklmnop"));
    EXPECT_EQ(read(structured, 0, {{16, false}}), chunk(1, u64(at) + "abcdefghijklmnop"));
}

TEST_F(Reply, AReadOfAHoleHasNoData) {
    EXPECT_EQ(read(structured, 0, {{16, true}}), chunk(2, u64(at) + u32(16)));
    EXPECT_EQ(read(extended, 0, {{16, true}}), wide_chunk(2, u64(at) + u32(16)));
}

TEST_F(Reply, AReadThatMeetsBothIsAChunkForEachTheLastOneMarked) {
    const std::vector<Extent> extents{{4, false}, {5, true}, {1, false}, {6, true}};
    EXPECT_EQ(read(structured, 0, extents),
              chunk(1, u64(at) + "abcd", 0) + chunk(2, u64(at + 4) + u32(5), 0) +
                  chunk(1, u64(at + 9) + "j", 0) + chunk(2, u64(at + 10) + u32(6)));
    EXPECT_EQ(read(extended, 0, extents),
              wide_chunk(1, u64(at) + "abcd", 0) + wide_chunk(2, u64(at + 4) + u32(5), 0) +
                  wide_chunk(1, u64(at + 9) + "j", 0) + wide_chunk(2, u64(at + 10) + u32(6)));
}

TEST_F(Reply, AsManyExtentsAsAReadMayTellFit) {
    std::vector<Extent> extents;
    for (size_t i = 0; i < read_extents_max; ++i) extents.push_back({2, i % 2 == 0});
    EXPECT_EQ(read(extended, 0, extents).size(),
              read_extents_max * (32 + 8) + read_extents_max / 2 * (4 + 2));
}

TEST_F(Reply, AFailedReadTellsHowFarItCame) {
    request.resid = 6;
    EXPECT_EQ(read(structured, EIO, {{16, true}}), chunk(0x8002, u32(5) + u16(0) + u64(at + 10)));
    EXPECT_EQ(read(extended, EIO), wide_chunk(0x8002, u32(5) + u16(0) + u64(at + 10)));
}

TEST_F(Reply, ARefusedReadHasNoPlaceToTell) {
    request.refused = true;
    EXPECT_EQ(read(structured, EINVAL), chunk(0x8001, u32(22) + u16(0)));
    EXPECT_EQ(read(extended, EINVAL), wide_chunk(0x8001, u32(22) + u16(0)));
}

TEST_F(Reply, WithoutDataToTellOnlyExtendedHeadersMakeChunks) {
    for (const Command command : {Command::write, Command::flush, Command::trim, Command::cache,
                                  Command::write_zeroes, Command{99}}) {
        EXPECT_EQ(other(command, ReplyForm::simple), simple(0));
        EXPECT_EQ(other(command, structured), simple(0));
        EXPECT_EQ(other(command, structured, ENOSPC), simple(28));
        EXPECT_EQ(other(command, extended), wide_chunk(0, ""));
        EXPECT_EQ(other(command, extended, ENOSPC), wide_chunk(0x8001, u32(28) + u16(0)));
    }
}

TEST_F(Reply, ADescriptorTellsLengthAndFlags) {
    const std::vector<Extent> extents{{4096, false}, {512, true}, {1, false}};
    EXPECT_EQ(status(structured, extents),
              chunk(5, u32(1) + u32(4096) + u32(0) + u32(512) + u32(3) + u32(1) + u32(0)));
    EXPECT_EQ(status(extended, extents), wide_chunk(6, u32(1) + u32(3) + u64(4096) + u64(0) +
                                                           u64(512) + u64(3) + u64(1) + u64(0)));
}

TEST_F(Reply, ACompactDescriptorThatIsCutIsTheLast) {  // CVE-2025-47711 and -47712
    for (const uint64_t bytes : {0xffff0001ul, 0xfffffffful, 0x100000000ul, 0x100000001ul}) {
        EXPECT_EQ(status(structured, {{512, false}, {bytes, true}, {512, false}}),
                  chunk(5, u32(1) + u32(512) + u32(0) + u32(0xffff0000) + u32(3)));
        EXPECT_EQ(status(extended, {{bytes, true}}),
                  wide_chunk(6, u32(1) + u32(1) + u64(bytes) + u64(3)));
    }
    EXPECT_EQ(status(structured, {{0xffff0000, true}, {512, false}}),
              chunk(5, u32(1) + u32(0xffff0000) + u32(3) + u32(512) + u32(0)));
}

TEST_F(Reply, AsManyDescriptorsAsABlockStatusMayTellFit) {
    std::vector<Extent> extents;
    for (size_t i = 0; i < status_extents_max; ++i) extents.push_back({i + 1, i % 2 == 0});
    std::string compact, wide;
    for (const Extent& extent : extents) {
        compact += u32(static_cast<uint32_t>(extent.bytes)) + u32(extent.hole ? 3 : 0);
        wide += u64(extent.bytes) + u64(extent.hole ? 3 : 0);
    }
    EXPECT_EQ(status(structured, extents), chunk(5, u32(1) + compact));
    EXPECT_EQ(status(extended, extents), wide_chunk(6, u32(1) + u32(status_extents_max) + wide));
}

TEST_F(Reply, AFailedBlockStatusIsAnErrorChunk) {
    request.error = EINVAL;
    EXPECT_EQ(status(structured, {}), chunk(0x8001, u32(22) + u16(0)));
}

}  // namespace
}  // namespace blkscope::nbd
