// The server's answer to each option, byte for byte.
#include <gtest/gtest.h>

#include "handshake_client.hpp"

namespace blkscope::nbd::testing {
namespace {

constexpr uint32_t server = 2;

class HandshakeTest : public ::testing::Test {
  protected:
    Outcome say(const std::string& stream) { return play(handshake, stream); }

    // Expects that an option is refused, and that an ABORT after it is still understood.
    void expect_refused(const std::string& refused, uint32_t number, uint32_t error) {
        const Outcome outcome = say(fixed + refused + option(2));
        const std::string head = u64(0x0003e889045565a9) + u32(number) + u32(error);
        EXPECT_EQ(outcome.sent.substr(0, head.size()), head);
        EXPECT_TRUE(outcome.sent.ends_with(reply(2, ack)));
        EXPECT_EQ(outcome.next, Step::Next::close);
        EXPECT_EQ(outcome.reason, "");
    }

    void expect_closed(const std::string& stream) {
        const Outcome outcome = say(stream);
        EXPECT_EQ(outcome.next, Step::Next::close);
        EXPECT_EQ(outcome.sent, "");
        EXPECT_NE(outcome.reason, "");
        EXPECT_EQ(handshake.wanted(), 0u);
    }

    const Exports exports = two_exports();
    Handshake handshake{exports};
    const std::string disk_info = u16(0) + u64(0x123456000) + u16(disk_flags);
    const std::string disk_sizes = u16(3) + u32(512) + u32(4096) + u32(1 << 25);
};

TEST_F(HandshakeTest, GreetsWithBothMagicsAndOffersFixedNewstyleWithoutZeroes) {
    const auto greeting = Handshake::greeting();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(greeting.data()), greeting.size()),
              "NBDMAGICIHAVEOPT" + u16(3));
}

TEST_F(HandshakeTest, AsksForTheClientsFlagsThenForOptionHeadersThenForTheirData) {
    EXPECT_EQ(handshake.wanted(), 4u);
    say(fixed);
    EXPECT_EQ(handshake.wanted(), 16u);
    say(option_header(7, 11));
    EXPECT_EQ(handshake.wanted(), 11u);
    say("12345");
    EXPECT_EQ(handshake.wanted(), 6u);
}

TEST_F(HandshakeTest, ClosesOnAClientFlagThatWasNotOffered) {
    expect_closed(u32(1 | 1 << 2));
}
TEST_F(HandshakeTest, ClosesOnTheHighestClientFlag) {
    expect_closed(u32(1 | 1u << 31));
}
TEST_F(HandshakeTest, ClosesOnAWrongOptionMagic) {
    expect_closed(fixed + "IHAVEOPS" + u32(3) + u32(0));
}

TEST_F(HandshakeTest, AClientBeforeFixedNewstyleGetsAnExportByName) {
    const Outcome outcome = say(before_fixed + option(1, "disk"));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.sent, u64(0x123456000) + u16(disk_flags) + std::string(124, '\0'));
}

TEST_F(HandshakeTest, AClientBeforeFixedNewstyleMayUseNothingElse) {
    expect_closed(before_fixed + option(3));
}

TEST_F(HandshakeTest, NoZeroesHoldsWithoutFixedNewstyleToo) {
    EXPECT_EQ(say(u32(2) + option(1, "disk")).sent, u64(0x123456000) + u16(disk_flags));
}

TEST_F(HandshakeTest, ExportNameIsAnsweredWithTenBytesToAClientThatSparesUsTheZeroes) {
    const Outcome outcome = say(fixed + option(1, "disk"));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.exp, 0u);
    EXPECT_EQ(outcome.sent, u64(0x123456000) + u16(disk_flags));
    EXPECT_EQ(handshake.wanted(), 0u);
}

TEST_F(HandshakeTest, ExportNameIsAnsweredWith134BytesToAClientThatDoesNot) {
    EXPECT_EQ(say(with_zeroes + option(1, "disk")).sent,
              u64(0x123456000) + u16(disk_flags) + std::string(124, '\0'));
}

TEST_F(HandshakeTest, ExportNameWithoutANameIsTheDefaultExport) {
    const Outcome outcome = say(fixed + option(1));
    EXPECT_EQ(outcome.exp, 1u);
    EXPECT_EQ(outcome.sent, u64(4096) + u16(3));
}

TEST_F(HandshakeTest, ExportNameClosesOnAnUnknownName) {
    expect_closed(fixed + option(1, "dis"));
}
TEST_F(HandshakeTest, ExportNameClosesOnANul) {
    expect_closed(fixed + option(1, std::string_view("disk\0", 5)));
}
TEST_F(HandshakeTest, ExportNameClosesOnInvalidUtf8) {
    expect_closed(fixed + option(1, "\xff"));
}
TEST_F(HandshakeTest, ExportNameClosesOnAnOverlongNameBeforeItHasCome) {
    expect_closed(fixed + option_header(1, 4097));
}

TEST_F(HandshakeTest, AbortIsAcknowledgedAndLeavesNothingToLog) {
    const Outcome outcome = say(fixed + option(2));
    EXPECT_EQ(outcome.sent, reply(2, ack));
    EXPECT_EQ(outcome.next, Step::Next::close);
    EXPECT_EQ(outcome.reason, "");
}

TEST_F(HandshakeTest, AbortMayHoldData) {
    EXPECT_EQ(say(fixed + option(2, "farewell")).sent, reply(2, ack));
}

TEST_F(HandshakeTest, ListNamesEachExportWithItsDescription) {
    const Outcome outcome = say(fixed + option(3));
    EXPECT_EQ(outcome.sent, reply(3, server, counted("disk") + "a disk") +
                                reply(3, server, counted("null")) + reply(3, ack));
    EXPECT_EQ(outcome.next, Step::Next::go_on);
}

TEST_F(HandshakeTest, ListIsAnsweredOnce) {
    say(fixed + option(3));
    EXPECT_EQ(say(option(3)).sent, reply(3, err_invalid, "the exports have been listed already"));
}

TEST_F(HandshakeTest, ListOfNoExportsIsEmpty) {
    const Exports none({});
    Handshake alone(none);
    EXPECT_EQ(play(alone, fixed + option(3)).sent, reply(3, ack));
}

TEST_F(HandshakeTest, ListIsForbiddenWhereTheExportsAreHiddenAndTheirNamesStillServe) {
    const Exports hidden({exports.begin(), exports.end()}, false);
    Handshake alone(hidden);
    const Outcome outcome = play(alone, fixed + option(3) + option(7, question("disk")));
    EXPECT_TRUE(outcome.sent.starts_with(
        reply(3, err_policy, "the exports of this server are not listed")));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
}

TEST_F(HandshakeTest, ListWithDataIsInvalidAndDoesNotCountAsListing) {
    say(fixed);
    EXPECT_EQ(say(option(3, "x")).sent, reply(3, err_invalid, "option 3 takes no data"));
    EXPECT_TRUE(say(option(3)).sent.ends_with(reply(3, ack)));
}

TEST_F(HandshakeTest, PeekExportIsUnsupported) {
    expect_refused(option(4, "x"), 4, err_unsup);
}
TEST_F(HandshakeTest, StarttlsIsRefusedByAServerWithoutTls) {
    expect_refused(option(5), 5, err_policy);
}
TEST_F(HandshakeTest, StarttlsWithDataIsInvalid) {
    expect_refused(option(5, "x"), 5, err_invalid);
}
TEST_F(HandshakeTest, StructuredReplyWithDataIsInvalid) {
    expect_refused(option(8, "x"), 8, err_invalid);
}
TEST_F(HandshakeTest, ExtendedHeadersWithDataAreInvalid) {
    expect_refused(option(11, "x"), 11, err_invalid);
}
TEST_F(HandshakeTest, AnUnknownOptionIsUnsupportedAndItsDataIsDrained) {
    expect_refused(option(0xfffffff0, "whatever it may mean"), 0xfffffff0, err_unsup);
}
TEST_F(HandshakeTest, AnUnknownOptionIsUnsupportedHoweverLong) {
    expect_refused(option(99, std::string(1 << 20, 'x')), 99, err_unsup);
}

TEST_F(HandshakeTest, GoTellsOfTheExportAndItsBlockSizesUnasked) {
    const Outcome outcome = say(fixed + option(7, question("disk")));
    EXPECT_EQ(outcome.sent, reply(7, info, disk_info) + reply(7, info, disk_sizes) + reply(7, ack));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.exp, 0u);
}

TEST_F(HandshakeTest, GoNeverSendsTheZeroes) {
    EXPECT_TRUE(say(with_zeroes + option(7, question("disk"))).sent.ends_with(reply(7, ack)));
}

TEST_F(HandshakeTest, GoTellsNameAndDescriptionWhenAskedAndIgnoresUnknownWishes) {
    const Outcome outcome = say(fixed + option(7, question("disk", {3, 2, 2, 1, 0, 77})));
    EXPECT_EQ(outcome.sent, reply(7, info, disk_info) + reply(7, info, u16(1) + "disk") +
                                reply(7, info, u16(2) + "a disk") + reply(7, info, disk_sizes) +
                                reply(7, ack));
}

TEST_F(HandshakeTest, TheDefaultExportIsToldByItsNameAndHasNoDescriptionToTell) {
    const Outcome outcome = say(fixed + option(7, question("", {1, 2})));
    EXPECT_EQ(outcome.exp, 1u);
    EXPECT_EQ(outcome.sent,
              reply(7, info, u16(0) + u64(4096) + u16(3)) + reply(7, info, u16(1) + "null") +
                  reply(7, info, u16(3) + u32(1) + u32(4096) + u32(1 << 25)) + reply(7, ack));
}

TEST_F(HandshakeTest, InfoStaysInTheHandshakeAndAnIdenticalGoGivesTheSameAnswer) {
    say(fixed);
    const Outcome told = say(option(6, question("disk", {1, 2, 3})));
    EXPECT_EQ(told.next, Step::Next::go_on);
    std::string as_go = told.sent;
    const std::string head = u64(0x0003e889045565a9);
    for (size_t at = 0; (at = as_go.find(head + u32(6))) != std::string::npos;) {
        as_go.replace(at + 8, 4, u32(7));
    }
    EXPECT_EQ(say(option(7, question("disk", {1, 2, 3}))).sent, as_go);
}

TEST_F(HandshakeTest, InfoMayBeFollowedByAnyOtherOption) {  // CVE-2019-14851
    const Outcome outcome = say(fixed + option(6, question("disk")) + option(3) +
                                option(6, question("null")) + option(8) + option(1, "disk"));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.exp, 0u);
}

class InfoAndGo : public HandshakeTest, public ::testing::WithParamInterface<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Options, InfoAndGo, ::testing::Values(6u, 7u));

TEST_P(InfoAndGo, OfAnUnknownExportGetOneErrorAndNoInfoBeforeIt) {
    say(fixed);
    const Outcome outcome = say(option(GetParam(), question("dis", {1})));
    EXPECT_EQ(outcome.sent, reply(GetParam(), err_unknown, "no export 'dis'"));
    EXPECT_EQ(outcome.next, Step::Next::go_on);
}

TEST_P(InfoAndGo, ShorterThanSixBytesAreInvalid) {
    expect_refused(option(GetParam(), std::string(5, '\0')), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithoutAnyDataAreInvalid) {
    expect_refused(option(GetParam()), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithANameThatReachesIntoTheCountAreInvalid) {
    expect_refused(option(GetParam(), u32(3) + "ab" + u16(0)), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithTrailingBytesAreInvalid) {
    expect_refused(option(GetParam(), question("disk") + "x"), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithFewerWishesThanCountedAreInvalid) {
    expect_refused(option(GetParam(), counted("disk") + u16(2) + u16(3)), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithHalfAWishAreInvalid) {
    expect_refused(option(GetParam(), counted("disk") + u16(1) + "x"), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithANulInTheNameAreInvalid) {
    expect_refused(option(GetParam(), question(std::string_view("disk\0", 5))), GetParam(),
                   err_invalid);
}
TEST_P(InfoAndGo, WithANameThatIsNotUtf8AreInvalid) {
    expect_refused(option(GetParam(), question("\xc0\xaf")), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithANameOf4097BytesAreInvalid) {  // CVE-2022-26496
    expect_refused(option(GetParam(), question(std::string(4097, 'n'))), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithANameLengthOf2To32Minus1AreInvalid) {  // CVE-2022-26495
    expect_refused(option(GetParam(), u32(0xffffffff) + "disk" + u16(0)), GetParam(), err_invalid);
}
TEST_P(InfoAndGo, WithMoreThan64KibOfDataAreTooBig) {
    expect_refused(option(GetParam(), std::string((64 << 10) + 1, 'x')), GetParam(), err_too_big);
}
TEST_P(InfoAndGo, WithExactly64KibOfDataAreLookedAt) {
    const std::vector<uint16_t> wishes(((64 << 10) - 10) / 2, 3);
    const Outcome outcome = say(fixed + option(GetParam(), question("disk", wishes)));
    EXPECT_TRUE(outcome.sent.ends_with(reply(GetParam(), ack)));
}

class Stopping : public HandshakeTest, public ::testing::WithParamInterface<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Options, Stopping,
                         ::testing::Values(3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 99u));

TEST_P(Stopping, IsTheAnswerToEveryOptionWhoseEndComesAfterIt) {
    const std::string data = GetParam() == 6 || GetParam() == 7 ? question("disk") : "";
    const std::string stream = option(GetParam(), data);
    say(fixed + stream.substr(0, 10));
    handshake.set_stopping();
    const Outcome outcome = say(stream.substr(10));
    EXPECT_EQ(outcome.sent, reply(GetParam(), err_shutdown, "the server is shutting down"));
    EXPECT_EQ(outcome.next, Step::Next::go_on);
}

TEST_F(HandshakeTest, StoppingStillAcknowledgesAbort) {
    handshake.set_stopping();
    EXPECT_EQ(say(fixed + option(2)).sent, reply(2, ack));
}

TEST_F(HandshakeTest, StoppingClosesOnExportNameWhichCannotBeRefused) {
    handshake.set_stopping();
    expect_closed(fixed + option(1, "disk"));
}

}  // namespace
}  // namespace blkscope::nbd::testing
