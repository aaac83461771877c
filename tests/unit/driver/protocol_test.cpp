// Headers byte for byte, and the conversion of errno to NBD's errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include "driver/nbd/protocol.hpp"
#include <limits>
#include <utility>

namespace blkscope::nbd {
namespace {

template <size_t N>
constexpr std::array<std::byte, N> bytes(const unsigned char (&values)[N]) {
    std::array<std::byte, N> made{};
    std::transform(values, values + N, made.begin(), [](unsigned char v) { return std::byte{v}; });
    return made;
}

constexpr auto write_request =
    bytes<28>({0x25, 0x60, 0x95, 0x13, 0x00, 0x11, 0x00, 0x01, 0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0xa6,
               0x97, 0x88, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xff, 0xfe, 0xfd, 0xfc});

TEST(NbdProtocol, ARequestIsReadFieldByFieldInBigEndian) {
    EXPECT_EQ(*parse_request(write_request), (Request{.flags = 0x11,
                                                      .type = Command::write,
                                                      .cookie = 0xf1e2d3c4b5a69788,
                                                      .offset = 0x0102030405060708,
                                                      .length = 0xfffefdfc}));
}

TEST(NbdProtocol, ARequestCanBeReadByTheCompiler) {
    static_assert(parse_request(write_request)->length == 0xfffefdfc);
}

TEST(NbdProtocol, ARequestWithAnyBitOfItsMagicWrongIsNone) {
    for (size_t bit = 0; bit < 32; ++bit) {
        auto request = write_request;
        request[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_FALSE(parse_request(request)) << bit;
    }
}

TEST(NbdProtocol, ACommandThatHasNoNameKeepsItsNumber) {
    auto request = write_request;
    request[6] = std::byte{0xab};
    EXPECT_EQ(parse_request(request)->type, Command{0xab01});
}

TEST(NbdProtocol, ASimpleReplyEchoesTheCookieAndTellsTheError) {
    std::array<std::byte, 16> reply{};
    encode_simple_reply(reply, Error::enospc, 0xf1e2d3c4b5a69788);
    EXPECT_EQ(reply, bytes<16>({0x67, 0x44, 0x66, 0x98, 0, 0, 0, 28, 0xf1, 0xe2, 0xd3, 0xc4, 0xb5,
                                0xa6, 0x97, 0x88}));
}

template <typename T>
void expect_round_trip(T value) {
    std::array<std::byte, sizeof(T)> stored{};
    store_be<T>(stored, value);
    EXPECT_EQ(load_be<T>(stored), value);
    EXPECT_EQ(std::to_integer<T>(stored.back()), value & 0xff);
}

TEST(NbdProtocol, WhatIsStoredIsLoaded) {
    expect_round_trip<uint8_t>(0xa5);
    for (int shift = 0; shift < 64; ++shift) {
        const uint64_t value = (uint64_t{0xc3} << shift) | 1;
        expect_round_trip(value);
        expect_round_trip(static_cast<uint32_t>(value));
        expect_round_trip(static_cast<uint16_t>(value));
    }
}

TEST(NbdProtocol, EachErrnoInTheTableBecomesItsError) {
    const std::pair<int, Error> table[] = {{0, Error::none},
                                           {EPERM, Error::eperm},
                                           {EACCES, Error::eperm},
                                           {EROFS, Error::eperm},
                                           {EIO, Error::eio},
                                           {ENOMEM, Error::enomem},
                                           {EINVAL, Error::einval},
                                           {ENOSPC, Error::enospc},
                                           {EDQUOT, Error::enospc},
                                           {EFBIG, Error::enospc},
                                           {EOVERFLOW, Error::eoverflow},
                                           {ENOTSUP, Error::enotsup},
                                           {ESHUTDOWN, Error::eshutdown},
                                           {EDOM, Error::einval},
                                           {ERANGE, Error::einval},
                                           {E2BIG, Error::einval}};
    for (const auto& [number, error] : table) EXPECT_EQ(wire_error(number), error) << number;
}

TEST(NbdProtocol, AnyOtherErrnoIsAnIoError) {
    for (const int number : {ENOENT, ENXIO, ENODEV, EBADF, ETIMEDOUT, ECANCELED, EAGAIN, -EINVAL,
                             4095, std::numeric_limits<int>::max()}) {
        EXPECT_EQ(wire_error(number), Error::eio) << number;
    }
}

TEST(NbdProtocol, ErrorsAreNumbersOfTheProtocolNotOfTheHost) {
    EXPECT_EQ(static_cast<uint32_t>(Error::eoverflow), 75u);
    EXPECT_EQ(static_cast<uint32_t>(Error::enotsup), 95u);
    EXPECT_EQ(static_cast<uint32_t>(Error::eshutdown), 108u);
}

}  // namespace
}  // namespace blkscope::nbd
