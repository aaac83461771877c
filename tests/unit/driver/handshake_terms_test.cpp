// The terms beside the export: the form of replies, metadata contexts, block sizes.
#include <gtest/gtest.h>

#include "handshake_client.hpp"

namespace blkscope::nbd::testing {
namespace {

constexpr uint32_t meta_context = 4;

constexpr uint16_t df = 0x0080;
constexpr uint16_t status_payload = 0x1000;

const std::string structured = option(8);
const std::string extended = option(11);
const std::string allocation = "base:allocation";

class HandshakeTerms : public ::testing::Test {
  protected:
    Outcome say(const std::string& stream) { return play(handshake, stream); }

    /// Expects this error for an option, and that an ABORT after it is still understood.
    void expect_refused(const std::string& before, const std::string& refused, uint32_t number,
                        uint32_t error) {
        Handshake fresh(exports);
        play(fresh, fixed + before);
        const Outcome outcome = play(fresh, refused + option(2));
        EXPECT_TRUE(outcome.sent.starts_with(u64(0x0003e889045565a9) + u32(number) + u32(error)));
        EXPECT_TRUE(outcome.sent.ends_with(reply(2, ack)));
    }

    /// The terms of a client that sends `before` and then GO.
    Terms agreed(const std::string& before, const std::string& name = "disk",
                 const std::vector<uint16_t>& wishes = {}) {
        Handshake fresh(exports);
        const Outcome outcome = play(fresh, fixed + before + option(7, question(name, wishes)));
        EXPECT_EQ(outcome.next, Step::Next::transmission);
        return outcome.terms;
    }

    const Exports exports = two_exports();
    Handshake handshake{exports};
};

// ---- The form of replies ----

TEST_F(HandshakeTerms, NothingIsAgreedUnasked) {
    EXPECT_EQ(agreed(""), Terms{});
}

TEST_F(HandshakeTerms, StructuredRepliesAreAcknowledgedAndAllowDf) {
    EXPECT_EQ(say(fixed + structured).sent, reply(8, ack));
    EXPECT_EQ(say(option(6, question("disk"))).sent.substr(0, 32),
              reply(6, info, u16(0) + u64(0x123456000) + u16(disk_flags | df)));
    EXPECT_EQ(agreed(structured).replies, ReplyForm::structured);
}

TEST_F(HandshakeTerms, ExtendedHeadersAllowDfAndPayloadsOfBlockStatus) {
    EXPECT_EQ(say(fixed + extended).sent, reply(11, ack));
    EXPECT_EQ(say(option(6, question("disk"))).sent.substr(0, 32),
              reply(6, info, u16(0) + u64(0x123456000) + u16(disk_flags | df | status_payload)));
    EXPECT_EQ(agreed(extended).replies, ReplyForm::extended);
    EXPECT_EQ(agreed(structured + extended).replies, ReplyForm::extended);
}

TEST_F(HandshakeTerms, WhatIsNegotiatedAlreadyIsRefused) {
    expect_refused(structured, structured, 8, err_invalid);
    expect_refused(extended, extended, 11, err_invalid);
    expect_refused(extended, structured, 8, err_ext_header_reqd);
}

TEST_F(HandshakeTerms, ARefusedFormIsNotAgreed) {
    EXPECT_EQ(agreed(option(8, "x") + option(11, "x")).replies, ReplyForm::simple);
}

TEST_F(HandshakeTerms, ExportNameTellsOfDfWithStructuredRepliesAndClosesWithExtendedHeaders) {
    const Outcome outcome = say(fixed + structured + option(1, "disk"));
    EXPECT_TRUE(outcome.sent.ends_with(u64(0x123456000) + u16(disk_flags | df)));
    EXPECT_EQ(outcome.terms.replies, ReplyForm::structured);

    Handshake fresh(exports);
    EXPECT_EQ(play(fresh, fixed + extended + option(1, "disk")).next, Step::Next::close);
}

// ---- A server with simpler forms only ----

/// The error of a server with `replies_max` for an option, or `ack`.
uint32_t answer_of(ReplyForm replies_max, const Exports& exports, const std::string& before,
                   const std::string& asked) {
    Handshake handshake(exports, {}, TlsMode::off, replies_max);
    play(handshake, fixed + before);
    const std::string sent = play(handshake, asked).sent;
    for (const uint32_t type : {ack, err_unsup}) {
        if (sent.substr(12, 4) == u32(type)) return type;
    }
    return 0;
}

TEST_F(HandshakeTerms, WithSimpleRepliesOnlyWhateverNeedsChunksIsUnknown) {
    for (const std::string& asked :
         {structured, extended, option(9, contexts("disk", {allocation})),
          option(10, contexts("disk", {allocation})), option(9, "short"), option(10, "")}) {
        EXPECT_EQ(answer_of(ReplyForm::simple, exports, "", asked), err_unsup);
    }
    Handshake simple(exports, {}, TlsMode::off, ReplyForm::simple);
    const Outcome outcome =
        play(simple, fixed + structured + extended + option(7, question("disk")));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.terms, Terms{});
}

TEST_F(HandshakeTerms, WithStructuredRepliesOnlyExtendedHeadersAreUnknown) {
    EXPECT_EQ(answer_of(ReplyForm::structured, exports, "", structured), ack);
    EXPECT_EQ(answer_of(ReplyForm::structured, exports, "", extended), err_unsup);
    EXPECT_EQ(answer_of(ReplyForm::structured, exports, structured, extended), err_unsup);
    EXPECT_EQ(
        answer_of(ReplyForm::structured, exports, structured, option(10, contexts("disk", {}))),
        ack);
}

// ---- Block sizes ----

TEST_F(HandshakeTerms, WhoAsksForTheBlockSizesInGoKeepsToThem) {
    EXPECT_TRUE(agreed("", "disk", {3}).block_sizes);
    EXPECT_FALSE(agreed("", "disk", {0, 1, 2}).block_sizes);
    EXPECT_FALSE(agreed(option(6, question("disk", {3}))).block_sizes);
}

// ---- Metadata contexts ----

TEST_F(HandshakeTerms, ListTellsOfTheContextWhenItIsMeant) {
    const std::string there = reply(9, meta_context, u32(0) + allocation) + reply(9, ack);
    const std::string nothing = reply(9, ack);
    say(fixed);
    EXPECT_EQ(say(option(9, contexts("disk", {}))).sent, there);
    EXPECT_EQ(say(option(9, contexts("disk", {"base:"}))).sent, there);
    EXPECT_EQ(say(option(9, contexts("", {allocation, "base:", "x:y"}))).sent, there);
    for (const char* other :
         {"base:alloc", "base:allocation2", "BASE:allocation", "qemu:", "", ":"}) {
        EXPECT_EQ(say(option(9, contexts("disk", {other}))).sent, nothing) << other;
    }
}

TEST_F(HandshakeTerms, SetSelectsTheContextByItsWholeNameOnly) {
    say(fixed + structured);
    EXPECT_EQ(say(option(10, contexts("disk", {"x:y", allocation, allocation}))).sent,
              reply(10, meta_context, u32(1) + allocation) + reply(10, ack));
    EXPECT_EQ(say(option(10, contexts("disk", {"base:"}))).sent, reply(10, ack));
    EXPECT_EQ(say(option(10, contexts("disk", {}))).sent, reply(10, ack));
}

TEST_F(HandshakeTerms, ASelectionHoldsForItsExport) {
    const std::string set = option(10, contexts("disk", {allocation}));
    EXPECT_TRUE(agreed(structured + set).allocation);
    EXPECT_TRUE(agreed(extended + set).allocation);
    EXPECT_FALSE(agreed(structured + set, "null").allocation);
    EXPECT_TRUE(agreed(structured + set + option(6, question("null"))).allocation);
}

TEST_F(HandshakeTerms, EverySetClearsTheSelectionAFailedOneToo) {
    const std::string set = structured + option(10, contexts("disk", {allocation}));
    for (const std::string& later :
         {option(10, contexts("disk", {})), option(10, contexts("nobody", {allocation})),
          option(10, "short"), option(10, std::string(65537, 'x'))}) {
        EXPECT_FALSE(agreed(set + later).allocation);
    }
    EXPECT_TRUE(agreed(set + option(9, contexts("disk", {}))).allocation);
}

TEST_F(HandshakeTerms, SetNeedsChunksAndListDoesNot) {
    expect_refused("", option(10, contexts("disk", {allocation})), 10, err_invalid);
    EXPECT_FALSE(agreed(option(10, contexts("disk", {allocation})) + structured).allocation);
}

class MetaContexts : public HandshakeTerms, public ::testing::WithParamInterface<uint32_t> {
  protected:
    void expect(const std::string& data, uint32_t error) {
        expect_refused(structured, option(GetParam(), data), GetParam(), error);
    }
};
INSTANTIATE_TEST_SUITE_P(Options, MetaContexts, ::testing::Values(9u, 10u));

TEST_P(MetaContexts, OfAnUnknownExportAreUnknown) {
    expect(contexts("nobody", {allocation}), err_unknown);
}
TEST_P(MetaContexts, ShorterThanEightBytesAreInvalid) {
    expect("", err_invalid);
    expect(std::string(7, '\0'), err_invalid);
}
TEST_P(MetaContexts, WithLengthsThatDoNotAddUpAreInvalid) {
    expect(counted("disk") + u32(1), err_invalid);
    expect(counted("disk") + u32(2) + counted(allocation), err_invalid);
    expect(counted("disk") + u32(0xffffffff) + counted(allocation), err_invalid);
    expect(counted("disk") + u32(1) + u32(0xffffffff) + allocation, err_invalid);
    expect(u32(0xfffffffc) + "disk" + u32(0), err_invalid);
    expect(contexts("disk", {allocation}) + "x", err_invalid);
}
TEST_P(MetaContexts, WithStringsThatAreNoneAreInvalid) {
    expect(contexts("\xff", {allocation}), err_invalid);
    expect(contexts("disk", {std::string("base\0", 5)}), err_invalid);
    expect(contexts("disk", {std::string(4097, 'q')}), err_invalid);
}
TEST_P(MetaContexts, ARefusalOfMalformedDataSaysWhatIsWrong) {
    const auto expect_reason = [this](const std::string& data, const std::string& why) {
        Handshake fresh(exports);
        play(fresh, fixed + structured);
        EXPECT_EQ(play(fresh, option(GetParam(), data)).sent, reply(GetParam(), err_invalid, why));
    };
    expect_reason("", "the option is shorter than its parts");
    expect_reason(contexts("disk", {allocation}) + "x",
                  "the option's length is not that of its parts");
    for (const std::string& name : {std::string("\xff"), std::string(4097, 'n')}) {
        expect_reason(contexts(name, {allocation}),
                      "a text of the option is longer than 4096 bytes, not UTF-8, or holds a NUL");
    }
}
TEST_P(MetaContexts, WithMoreThan64KibOfDataAreTooBig) {
    expect(contexts("disk", std::vector<std::string>(5000, allocation)), err_too_big);
}

}  // namespace
}  // namespace blkscope::nbd::testing
