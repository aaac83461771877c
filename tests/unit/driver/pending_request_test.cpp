// The way from a command to an operation of the device, for each number that a client may send.
#include "driver/nbd/transmission/pending_request.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "driver/nbd/transmission/request_rules.hpp"

namespace blkscope::nbd {
namespace {

constexpr uint32_t numbers = uint32_t{1} << 16;

Request request_of(uint32_t number) {
    return {.type = Command{static_cast<uint16_t>(number)}, .cookie = 1, .length = 512};
}

TEST(PendingRequest, OnlyAReadBecomesARead) {
    for (uint32_t number = 0; number < numbers; ++number) {
        const Command command = request_of(number).type;
        EXPECT_EQ(op_of(command) == Buf::Op::read, command == Command::read) << number;
    }
}

TEST(PendingRequest, ACommandWithoutAnOperationIsRefused) {
    const RequestRules rules{.size_bytes = 4096,
                             .payload_bytes_max = 4096,
                             .terms = {.replies = ReplyForm::structured, .allocation = true}};
    for (uint32_t number = 0; number < numbers; ++number) {
        const Request header = request_of(number);
        if (header.type == Command::disc) continue;  // is no request
        PendingRequest request;
        begin_request(request, header, true);
        EXPECT_EQ(request.refused, !op_of(header.type)) << number;
        if (request.refused) {
            EXPECT_EQ(rules.refusal(header), EINVAL) << number;
        }
    }
}

}  // namespace
}  // namespace blkscope::nbd
