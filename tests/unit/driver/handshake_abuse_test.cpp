// Hostile and broken clients: their bytes cost little memory and never break the server.
#include <gtest/gtest.h>

#include <random>

#include "handshake_client.hpp"
#include "largest_allocation.hpp"
#include "unit/rounds/rounds.hpp"

namespace blkscope::nbd::testing {
namespace {

// A growing vector may have twice the capacity of the kept data. The list of two exports is
// shorter.
constexpr size_t allocation_max = 2 * (64 << 10);

// Counts the option replies in `sent`, and checks that each is complete and within the limits.
size_t count_replies(std::string_view sent) {
    const auto number = [&](size_t at) {
        return load_be<uint32_t>(std::as_bytes(std::span(sent)).subspan(at).first<4>());
    };
    size_t replies = 0;
    while (sent.size() >= option_reply_header_bytes) {
        EXPECT_EQ(sent.substr(0, 8), u64(option_reply_magic));
        const size_t data_bytes = number(16);
        const bool error = (number(12) & 0x80000000) != 0;
        EXPECT_LE(data_bytes, error ? string_bytes_max : 4 + 2 * string_bytes_max);
        EXPECT_LE(data_bytes, sent.size() - option_reply_header_bytes);
        sent.remove_prefix(option_reply_header_bytes + data_bytes);
        ++replies;
    }
    EXPECT_TRUE(sent.empty());
    return replies;
}

class HandshakeAbuse : public ::testing::Test {
  protected:
    Outcome say(std::string_view stream) { return play(handshake, stream); }

    const Exports exports = two_exports();
    Handshake handshake{exports};
};

TEST_F(HandshakeAbuse, AClientThatSaysNothingGetsNoMoreThanTheGreeting) {  // CVE-2019-14850
    EXPECT_EQ(play(handshake, {}).sent, "");
    EXPECT_EQ(play(handshake, fixed).sent, "");
    EXPECT_EQ(play(handshake, option_header(7, 8)).sent, "");
}

TEST_F(HandshakeAbuse, AnOptionOf4GibClosesBeforeItsDataIsRead) {  // CVE-2017-15119
    for (const uint32_t number : {1u, 2u, 3u, 6u, 7u, 8u, 10u, 99u}) {
        Handshake fresh(exports);
        const Outcome outcome = play(fresh, fixed + option_header(number, 0xffffffff) + "data");
        EXPECT_EQ(outcome.next, Step::Next::close) << number;
        EXPECT_EQ(outcome.taken, 20u) << number;
        EXPECT_NE(outcome.reason.find("4294967295 bytes"), std::string::npos) << outcome.reason;
    }
}

TEST_F(HandshakeAbuse, AnOptionOfOneByteMoreThan32MibCloses) {
    EXPECT_EQ(say(fixed + option_header(99, (32 << 20) + 1)).next, Step::Next::close);
}

TEST_F(HandshakeAbuse, AnOptionOf32MibIsThrownAwayInPieces) {
    const std::string stream = fixed + option_header(7, 32 << 20);
    say(stream);
    const std::string rest(32 << 20, 'x');
    largest_allocation = 0;
    const Outcome outcome = say(rest);
    EXPECT_LE(largest_allocation, 1024u);
    EXPECT_EQ(outcome.next, Step::Next::go_on);
    EXPECT_LE(outcome.wanted_at_once, size_t{64} << 10);
    EXPECT_EQ(outcome.sent, reply(7, 0x80000009, "the option is too long"));
}

TEST_F(HandshakeAbuse, MemoryGrowsWithWhatHasComeNotWithWhatIsAnnounced) {
    say(fixed);
    largest_allocation = 0;
    const Outcome outcome = say(option_header(7, 64 << 10) + "only this much");
    EXPECT_EQ(outcome.next, Step::Next::go_on);
    EXPECT_LE(largest_allocation, 1024u);
}

TEST_F(HandshakeAbuse, AnUnknownNameOf4096BytesFitsIntoTheErrorsText) {  // CVE-2020-10761
    for (const char c : {'n', '\n', '"'}) {
        for (const uint32_t number : {6u, 7u}) {
            Handshake fresh(exports);
            const Outcome outcome =
                play(fresh, fixed + option(number, question(std::string(4096, c))));
            EXPECT_EQ(count_replies(outcome.sent), 1u);
            EXPECT_LE(outcome.sent.size(), 512u);
            EXPECT_EQ(outcome.sent.find('\n'), std::string::npos);
        }
    }
}

TEST_F(HandshakeAbuse, AnExportWhoseNameHas4096BytesIsServedByEveryRoute) {  // CVE-2017-15118
    const std::string name(4096, 'n');
    const Exports long_named({{.name = name,
                               .description = std::string(4096, 'd'),
                               .size_bytes = 4096,
                               .transmission_flags = 1,
                               .block_size = {}}});
    for (const std::string& chosen :
         {option(1, name), option(7, question(name, {1, 2})), option(3) + option(7, question(name)),
          option(6, question(name, {1, 2})) + option(7, question(""))}) {
        Handshake fresh(long_named);
        EXPECT_EQ(play(fresh, fixed + chosen).next, Step::Next::transmission);
    }
}

TEST_F(HandshakeAbuse,
       AnUnknownExportEndsNoMoreThanItsConnection) {  // CVE-2011-1925, CVE-2013-7441
    const Outcome named = say(fixed + option(1, "nobody\n's"));
    EXPECT_EQ(named.next, Step::Next::close);
    EXPECT_EQ(named.reason, "no export 'nobody\\x0a's'");

    Handshake asked(exports);
    const Outcome told =
        play(asked, fixed + option(6, question("nobody")) + option(7, question("nobody")) +
                        option(7, question("disk")));
    EXPECT_EQ(told.next, Step::Next::transmission);

    const Exports none({});
    Handshake empty(none);
    EXPECT_EQ(play(empty, fixed + option(7, question(""))).next, Step::Next::go_on);
}

TEST_F(HandshakeAbuse, AClientMayVanishAtAnyByte) {  // CVE-2017-7539, CVE-2017-9524
    const std::string stream = fixed + option(3) + option(6, question("disk", {1, 2})) +
                               option(99, "data") + option(7, question("disk"));
    for (size_t bytes = 0; bytes < stream.size(); ++bytes) {
        Handshake fresh(exports);
        const Outcome outcome = play(fresh, std::string_view(stream).substr(0, bytes));
        EXPECT_EQ(outcome.next, Step::Next::go_on);
        EXPECT_EQ(outcome.taken, bytes);
    }
}

TEST_F(HandshakeAbuse, The33rdOptionCloses) {
    std::string stream = fixed;
    for (int i = 0; i < 32; ++i) stream += option(8);
    EXPECT_EQ(say(stream).next, Step::Next::go_on);
    const Outcome outcome = say(option(7, question("disk")));
    EXPECT_EQ(outcome.next, Step::Next::close);
    EXPECT_EQ(outcome.sent, "");
    EXPECT_EQ(outcome.reason, "33 options without a choice of an export");
}

TEST_F(HandshakeAbuse, AListBuys32OptionsForEachExportOnce) {
    std::string stream = fixed + option(3) + option(3);
    for (int i = 2; i < 3 * 32; ++i) stream += option(6, question("disk"));
    EXPECT_EQ(say(stream).next, Step::Next::go_on);
    EXPECT_EQ(say(option(6, question("disk"))).next, Step::Next::close);
}

TEST_F(HandshakeAbuse, TheLimitsAreTheCallers) {
    Handshake strict(exports, {.options_max = 1, .option_bytes_max = 20, .parsed_bytes_max = 11});
    EXPECT_EQ(play(strict, fixed + option(7, question("disk", {3}))).sent,
              reply(7, 0x80000009, "the option is too long"));
    EXPECT_EQ(play(strict, option(2)).next, Step::Next::close);

    Handshake narrow(exports, {.option_bytes_max = 20});
    EXPECT_EQ(play(narrow, fixed + option_header(99, 21)).next, Step::Next::close);
}

TEST_F(HandshakeAbuse, WhatFollowsAGoIsLeftForTransmission) {
    const std::string stream = fixed + option(7, question("disk"));
    const Outcome outcome = say(stream + "the first request");
    EXPECT_EQ(outcome.next, Step::Next::transmission);
    EXPECT_EQ(outcome.taken, stream.size());
}

TEST_F(HandshakeAbuse, FeedingMoreThanWantedOrAfterTheEndAborts) {
    const std::string five(5, '\0');
    EXPECT_DEATH((void)handshake.feed(std::as_bytes(std::span(five))), "wanted");
    say(fixed + option(2));
    EXPECT_DEATH((void)handshake.feed({}), "ended");
}

// Streams that are mostly valid, so that they pass the first checks and reach the others.
class Babble {
  public:
    std::string stream() {
        std::string said = chance(20) ? bytes(4) : u32(one_of({0, 1, 2, 3}));
        for (uint32_t i = one_of({1, 2, 4, 40}); i > 0; --i) said += random_option();
        if (chance(4)) said.resize(below(said.size() + 1));
        return said;
    }

    size_t below(size_t end) { return random_() % end; }
    bool chance(size_t one_in) { return below(one_in) == 0; }

  private:
    uint32_t one_of(std::initializer_list<uint32_t> values) {
        return values.begin()[below(values.size())];
    }

    std::string bytes(size_t count) {
        std::string made;
        while (made.size() < count) made += static_cast<char>(random_() & 0xff);
        return made;
    }

    std::string name() {
        static const std::string names[] = {"disk", "null", "", "nobody", "d\xc3\xb6", "\xff"};
        return chance(8) ? bytes(below(64)) : names[below(std::size(names))];
    }

    std::string data() {
        if (chance(4)) return {};
        if (chance(4)) return name();
        std::string made = question(name(), std::vector<uint16_t>(below(6), one_of16()));
        if (chance(6)) made[below(made.size())] = static_cast<char>(random_() & 0xff);
        if (chance(8)) made += bytes(below(9));
        return made;
    }

    uint16_t one_of16() { return static_cast<uint16_t>(below(5)); }

    std::string random_option() {
        const auto number = static_cast<uint32_t>(chance(16) ? random_() : below(13));
        std::string made = option(number, data());
        if (chance(30)) made.replace(12, 4, u32(one_of({0, 5, 65537, 0x2000001, 0xffffffff})));
        if (chance(60)) made[below(16)] ^= static_cast<char>(1 << below(8));
        return made;
    }

    std::mt19937 random_{20260721};  // fixed, so that a failure repeats
};

TEST_F(HandshakeAbuse, BytesInAnyPiecesComeToTheSame) {
    Babble babble;
    for (int i = 0; i < 2'000; ++i) {
        const std::string stream = babble.stream();
        Handshake at_once(exports);
        Handshake byte_by_byte(exports);
        Outcome whole = play(at_once, stream);
        Outcome bytes = play(byte_by_byte, stream, 1);
        EXPECT_EQ(whole, bytes);
        EXPECT_EQ(at_once.wanted(), byte_by_byte.wanted());
    }
}

// Random bytes never make a handshake large. Its output is always whole replies.
TEST_F(HandshakeAbuse, RandomStreamsNeverHurt) {
    Babble babble;
    size_t ended[4] = {};
    largest_allocation = 0;
    for (int i = 0; i < computed_rounds(100'000); ++i) {
        Handshake fresh(exports, {}, i % 2 == 0 ? TlsMode::on : TlsMode::off);
        const std::string stream = babble.stream();
        const Outcome outcome = play(fresh, stream, 1 + babble.below(100));
        ++ended[static_cast<size_t>(outcome.next)];
        ASSERT_LE(outcome.wanted_at_once, size_t{64} << 10);
        ASSERT_LE(outcome.sent_at_once, 1024u);
        switch (outcome.next) {
            case Step::Next::go_on:
                ASSERT_EQ(outcome.taken, stream.size());
                ASSERT_GT(fresh.wanted(), 0u);
                ASSERT_TRUE(outcome.reason.empty());
                break;
            case Step::Next::transmission:
                ASSERT_LT(outcome.exp, exports.size());
                ASSERT_EQ(fresh.wanted(), 0u);
                continue;  // the last bytes may be the answer to EXPORT_NAME
            case Step::Next::start_tls:
                ASSERT_EQ(fresh.wanted(), option_header_bytes);
                break;
            case Step::Next::close:
                ASSERT_EQ(fresh.wanted(), 0u);
                break;
        }
        count_replies(outcome.sent);
    }
    EXPECT_LE(largest_allocation, allocation_max);
    const auto few = size_t{BLKSCOPE_SANITIZED ? 100 : 1000};
    for (const size_t times : ended) EXPECT_GT(times, few);  // each state was reached
}

}  // namespace
}  // namespace blkscope::nbd::testing
