// The error of each wrong request, command by command.
#include "driver/nbd/transmission/request_rules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

namespace blkscope::nbd {
namespace {

constexpr uint64_t size_bytes = uint64_t{1} << 40;
constexpr uint64_t payload_max = uint64_t{1} << 25;

RequestRules rules(ReplyForm form = ReplyForm::structured, bool allocation = true) {
    return {.size_bytes = size_bytes,
            .payload_bytes_max = payload_max,
            .read_only = false,
            .terms = {.replies = form, .allocation = allocation}};
}

Request request(Command type, uint64_t offset, uint64_t length, int flags = 0) {
    return {.flags = static_cast<uint16_t>(flags),
            .type = type,
            .cookie = 1,
            .offset = offset,
            .length = length};
}

constexpr std::array ranged{Command::read,  Command::write,        Command::trim,
                            Command::cache, Command::write_zeroes, Command::block_status};

TEST(RequestRules, WhatLiesInsideIsServed) {
    for (const Command type : ranged) {
        EXPECT_EQ(rules().refusal(request(type, 0, 512)), 0);
        EXPECT_EQ(rules().refusal(request(type, size_bytes - 1, 1)), 0);
    }
    EXPECT_EQ(rules().refusal(request(Command::flush, 0, 0)), 0);
}

TEST(RequestRules, WhatReachesOutsideIsRefusedAsItsCommandSays) {
    for (const Command type : ranged) {
        const bool grows = type == Command::write || type == Command::write_zeroes;
        const int error = grows ? ENOSPC : EINVAL;
        for (const uint64_t offset :
             {size_bytes, size_bytes - 511, size_bytes + 1, ~uint64_t{0}, ~uint64_t{0} - 511}) {
            EXPECT_EQ(rules().refusal(request(type, offset, 512)), error);
        }
    }
}

TEST(RequestRules, OnlyATrimMayBeEmpty) {
    for (const Command type : ranged) {
        EXPECT_EQ(rules().refusal(request(type, 0, 0)), type == Command::trim ? 0 : EINVAL);
    }
    EXPECT_EQ(rules().refusal(request(Command::flush, 0, 512)), EINVAL);
    EXPECT_EQ(rules().refusal(request(Command::flush, 512, 0)), EINVAL);
}

TEST(RequestRules, DataHasALimitAndOtherLengthsHaveNone) {
    for (const Command type : ranged) {
        const bool data = type == Command::read || type == Command::write;
        EXPECT_EQ(rules().refusal(request(type, 0, payload_max)), 0);
        EXPECT_EQ(rules().refusal(request(type, 0, payload_max + 1)), data ? EINVAL : 0);
        EXPECT_EQ(rules().refusal(request(type, 0, size_bytes)), data ? EINVAL : 0);
    }
}

TEST(RequestRules, AReadOnlyExportRefusesWhateverWrites) {
    RequestRules read_only = rules();
    read_only.read_only = true;
    for (const Command type : ranged) {
        const bool writes =
            type == Command::write || type == Command::trim || type == Command::write_zeroes;
        EXPECT_EQ(read_only.refusal(request(type, 0, 512)), writes ? EPERM : 0);
        // The range is checked after read-only.
        EXPECT_EQ(read_only.refusal(request(type, size_bytes, 512)), writes ? EPERM : EINVAL);
    }
    EXPECT_EQ(read_only.refusal(request(Command::flush, 0, 0)), 0);
}

TEST(RequestRules, EachFlagBelongsToItsCommand) {
    namespace flag = command_flag;
    const auto allowed = [](Command type, uint16_t bit) {
        return bit == flag::fua || (type == Command::read && bit == flag::df) ||
               (type == Command::write_zeroes &&
                (bit == flag::no_hole || bit == flag::fast_zero)) ||
               (type == Command::block_status && bit == flag::req_one);
    };
    for (const Command type : ranged) {
        for (int shift = 0; shift < 16; ++shift) {
            const auto bit = static_cast<uint16_t>(1 << shift);
            EXPECT_EQ(rules().refusal(request(type, 0, 512, bit)), allowed(type, bit) ? 0 : EINVAL)
                << static_cast<int>(type) << " " << bit;
        }
    }
    EXPECT_EQ(rules().refusal(request(Command::flush, 0, 0, flag::fua)), 0);
}

TEST(RequestRules, DfNeedsChunks) {
    const Request read = request(Command::read, 0, 512, command_flag::df);
    EXPECT_EQ(rules(ReplyForm::simple).refusal(read), EINVAL);
    EXPECT_EQ(rules(ReplyForm::extended).refusal(read), 0);
}

TEST(RequestRules, BlockStatusNeedsASelectedContext) {
    const Request status = request(Command::block_status, 0, 512);
    EXPECT_EQ(rules(ReplyForm::structured, false).refusal(status), EINVAL);
    EXPECT_EQ(rules(ReplyForm::structured, true).refusal(status), 0);
}

TEST(RequestRules, WhatIsNotOfferedIsInvalid) {
    for (const uint16_t type : std::initializer_list<uint16_t>{8, 9, 100, 0xffff}) {
        EXPECT_EQ(rules().refusal(request(Command{type}, 0, 512)), EINVAL) << type;
    }
}

// ---- Payloads ----

TEST(RequestRules, ACompactWriteBringsItsDataAndNothingElseBringsAny) {
    for (const Command type : ranged) {
        EXPECT_EQ(rules().payload_bytes(request(type, 0, 512)), type == Command::write ? 512u : 0u);
    }
}

TEST(RequestRules, AnExtendedRequestBringsWhatItsFlagSays) {
    const RequestRules extended = rules(ReplyForm::extended);
    for (const Command type : ranged) {
        const Request flagged = request(type, 0, 512, command_flag::payload_len);
        EXPECT_EQ(extended.payload_bytes(flagged), 512u);
        EXPECT_EQ(extended.refusal(flagged), type == Command::write ? 0 : EINVAL);
        if (type == Command::write) continue;
        EXPECT_EQ(extended.payload_bytes(request(type, 0, 512)), 0u);
    }
}

// QEMU's client never sets the flag.
TEST(RequestRules, AnExtendedWriteBringsItsDataWithoutTheFlagToo) {
    const RequestRules extended = rules(ReplyForm::extended);
    const Request unflagged = request(Command::write, 0, 512);
    EXPECT_EQ(extended.payload_bytes(unflagged), 512u);
    EXPECT_EQ(extended.refusal(unflagged), 0);
}

std::array<std::byte, status_payload_bytes> status_payload(uint64_t length, uint32_t id) {
    std::array<std::byte, status_payload_bytes> payload{};
    store_be<uint64_t>(std::span(payload).first<8>(), length);
    store_be<uint32_t>(std::span(payload).last<4>(), id);
    return payload;
}

TEST(RequestRules, ABlockStatusPayloadIsTheLengthAndTheContextThatIsWanted) {
    const Request header =
        request(Command::block_status, 4096, 12, command_flag::payload_len | command_flag::req_one);
    EXPECT_TRUE(has_status_payload(header, ReplyForm::extended));
    EXPECT_FALSE(has_status_payload(header, ReplyForm::structured));
    const auto resolved = with_status_payload(header, status_payload(uint64_t{1} << 35, 1));
    EXPECT_EQ(*resolved,
              request(Command::block_status, 4096, uint64_t{1} << 35, command_flag::req_one));
    EXPECT_FALSE(with_status_payload(header, status_payload(512, 2)));
}

TEST(RequestRules, OtherBlockStatusPayloadsAskForWhatThereIsNot) {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{8}, uint64_t{16}, uint64_t{1} << 40}) {
        const Request header = request(Command::block_status, 0, bytes, command_flag::payload_len);
        EXPECT_FALSE(has_status_payload(header, ReplyForm::extended));
        EXPECT_EQ(rules(ReplyForm::extended).refusal(header), EINVAL);
        EXPECT_EQ(rules(ReplyForm::extended).payload_bytes(header), bytes);
    }
}

}  // namespace
}  // namespace blkscope::nbd
