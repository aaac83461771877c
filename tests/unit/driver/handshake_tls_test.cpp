// The handshake's answers before, at and after STARTTLS.
#include <gtest/gtest.h>

#include "handshake_client.hpp"

namespace blkscope::nbd::testing {
namespace {

const std::string starttls = option(5);

class HandshakeTls : public ::testing::TestWithParam<TlsMode> {
  protected:
    Outcome say(const std::string& stream) { return play(handshake, stream); }

    /// Feeds the stream up to the ACK of STARTTLS.
    void start_tls() {
        const Outcome outcome = say(fixed + starttls);
        ASSERT_EQ(outcome.next, Step::Next::start_tls);
        ASSERT_EQ(outcome.sent, reply(5, ack));
    }

    static bool is_refusal(const std::string& sent, uint32_t number, uint32_t error) {
        return sent.starts_with(u64(option_reply_magic) + u32(number) + u32(error));
    }

    const Exports exports = two_exports();
    Handshake handshake{exports, {}, GetParam()};
};

class HandshakeTlsRequired : public HandshakeTls {};

INSTANTIATE_TEST_SUITE_P(Modes, HandshakeTls, ::testing::Values(TlsMode::on, TlsMode::require),
                         [](const auto& test) {
                             return test.param == TlsMode::on ? "on" : "require";
                         });
INSTANTIATE_TEST_SUITE_P(Modes, HandshakeTlsRequired, ::testing::Values(TlsMode::require),
                         [](const auto&) { return "require"; });

TEST_P(HandshakeTls, StarttlsIsAcknowledgedAndOptionsGoOnBehindIt) {
    start_tls();
    const Outcome outcome = say(option(7, question("disk")));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.exp, 0u);
}

// An attacker may have sent the options before TLS.
TEST_P(HandshakeTls, WhatWasAgreedOnBeforeTlsIsForgotten) {
    if (GetParam() == TlsMode::on) {
        EXPECT_EQ(say(fixed + option(8)).sent, reply(8, ack));  // structured replies
        EXPECT_EQ(say(starttls).next, Step::Next::start_tls);
    } else {
        start_tls();
    }
    const Outcome outcome = say(option(7, question("disk")));
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.terms, Terms{});
}

// A plain byte after STARTTLS must not be read as an option. The byte stays in the socket, and TLS
// fails on it.
TEST_P(HandshakeTls, NothingBehindStarttlsIsReadBeforeTlsHasBegun) {
    const std::string stream = fixed + starttls + option(7, question("disk"));
    const Outcome outcome = say(stream);
    EXPECT_EQ(outcome.next, Step::Next::start_tls);
    EXPECT_EQ(outcome.taken, fixed.size() + starttls.size());
    EXPECT_EQ(outcome.sent, reply(5, ack));
}

TEST_P(HandshakeTls, ASecondStarttlsIsInvalid) {
    start_tls();
    const Outcome outcome = say(starttls);
    EXPECT_TRUE(is_refusal(outcome.sent, 5, err_invalid));
    EXPECT_EQ(outcome.next, Step::Next::go_on);
    EXPECT_EQ(say(option(7, question("disk"))).next, Step::Next::transmission);
}

TEST_P(HandshakeTls, StarttlsWithDataIsInvalidAndStartsNothing) {
    const Outcome outcome = say(fixed + option(5, "x"));
    EXPECT_TRUE(is_refusal(outcome.sent, 5, err_invalid));
    EXPECT_EQ(outcome.next, Step::Next::go_on);
    EXPECT_EQ(say(starttls).next, Step::Next::start_tls);
}

TEST_P(HandshakeTls, StarttlsIsRefusedByAServerThatStops) {
    handshake.set_stopping();
    const Outcome outcome = say(fixed + starttls);
    EXPECT_TRUE(is_refusal(outcome.sent, 5, err_shutdown));
    EXPECT_EQ(outcome.next, Step::Next::go_on);
}

// Options before TLS still count.
TEST_P(HandshakeTls, TheLimitOfOptionsCountsThoseBeforeTls) {
    std::string many;
    for (int i = 0; i < 31; ++i) many += option(8);
    EXPECT_EQ(say(fixed + many + starttls).next, Step::Next::start_tls);
    const Outcome outcome = say(option(7, question("disk")));
    EXPECT_EQ(outcome.next, Step::Next::close);
    EXPECT_EQ(outcome.sent, "");
}

// An attacker may have sent the options before TLS.
TEST(HandshakeTlsOptional, WhatTheClientDidBeforeTlsIsForgotten) {
    const Exports exports = two_exports();
    Handshake handshake(exports, {}, TlsMode::on);
    const std::string list = option(3);
    const std::string listed = play(handshake, fixed + list).sent;
    ASSERT_EQ(play(handshake, starttls).next, Step::Next::start_tls);
    EXPECT_EQ(play(handshake, list).sent, listed);  // a second one would be invalid
}

TEST(HandshakeTlsOptional, AClientMayGoOnWithoutTls) {
    const Exports exports = two_exports();
    Handshake handshake(exports, {}, TlsMode::on);
    EXPECT_EQ(play(handshake, fixed + option(7, question("disk"))).next, Step::Next::transmission);
}

TEST_P(HandshakeTlsRequired, EveryOptionButStarttlsAndAbortIsToldSo) {
    say(fixed);
    for (const uint32_t number : {3u, 4u, 6u, 7u, 8u, 9u, 10u, 11u, 77u}) {
        const std::string data = number == 6 || number == 7 ? question("disk") : "";
        const Outcome outcome = say(option(number, data));
        EXPECT_TRUE(is_refusal(outcome.sent, number, err_tls_reqd)) << number;
        EXPECT_EQ(outcome.next, Step::Next::go_on);
    }
    const Outcome abort = say(option(2));
    EXPECT_EQ(abort.sent, reply(2, ack));
    EXPECT_EQ(abort.next, Step::Next::close);
}

// A client without TLS must not find out which names exist.
TEST_P(HandshakeTlsRequired, AnUnknownExportIsAnsweredLikeAKnownOne) {
    const std::string known = say(fixed + option(7, question("disk"))).sent;
    EXPECT_EQ(say(option(7, question("nowhere"))).sent, known);
}

TEST_P(HandshakeTlsRequired, ExportNameWithoutTlsIsClosedUnanswered) {
    const Outcome outcome = say(fixed + option(1, "disk"));
    EXPECT_EQ(outcome.next, Step::Next::close);
    EXPECT_EQ(outcome.sent, "");
    EXPECT_NE(outcome.reason, "");
}

TEST_P(HandshakeTlsRequired, AClientOfBeforeFixedNewstyleIsClosedUnanswered) {
    const Outcome outcome = say(before_fixed + option(1, "disk"));
    EXPECT_EQ(outcome.next, Step::Next::close);
    EXPECT_EQ(outcome.sent, "");
}

TEST_P(HandshakeTlsRequired, ExportNameIsServedBehindTls) {
    start_tls();
    EXPECT_EQ(say(option(1, "disk")).next, Step::Next::transmission);
}

}  // namespace
}  // namespace blkscope::nbd::testing
