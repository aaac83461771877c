#include "driver/nbd/tls/tls_keys.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "../failure.hpp"

namespace blkscope::nbd {
namespace {

const std::string hex(size_t bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) text += "a5";
    return text;
}

std::string failure(std::string_view text) {
    return failure_of([&] { return TlsKeys::parse(text); });
}

TEST(TlsKeys, AreFoundByTheirNames) {
    const TlsKeys keys = TlsKeys::parse("alice:" + hex(16) + "\nbob:" + hex(32) + "\n");
    ASSERT_NE(keys.find("alice"), nullptr);
    EXPECT_EQ(*keys.find("alice"), TlsKeys::Key(16, 0xa5));
    EXPECT_EQ(keys.find("bob")->size(), 32u);
    EXPECT_EQ(keys.find("carol"), nullptr);
    EXPECT_EQ(keys.find(""), nullptr);
}

TEST(TlsKeys, MayHaveEmptyLinesAndNoEndOfTheLastOne) {
    const TlsKeys keys = TlsKeys::parse("\n\r\nalice:" + hex(16) + "\r\n\nbob:" + hex(16));
    EXPECT_NE(keys.find("alice"), nullptr);
    EXPECT_NE(keys.find("bob"), nullptr);
}

TEST(TlsKeys, TakeNamesInHexadecimalToo) {
    EXPECT_NE(TlsKeys::parse("#616c696365:" + hex(16)).find("alice"), nullptr);
}

TEST(TlsKeys, SayWhichLineIsWrongAndNeverWhatItHolds) {
    const std::string good = "alice:" + hex(16) + "\n";
    const std::pair<std::string, const char*> wrong[] = {
        {"bob", "line 2: no ':'"},
        {":" + hex(16), "line 2: no name before the ':'"},
        {"#6x:" + hex(16), "line 2: no name before the ':'"},
        {"bob:" + hex(15) + "a", "line 2: no hexadecimal key after the ':'"},
        {"bob:" + hex(15) + "+1", "line 2: no hexadecimal key after the ':'"},
        {"bob:" + hex(15), "line 2: a key of 15 bytes, not 16 to 256"},
        {"bob:" + hex(257), "line 2: a key of 257 bytes, not 16 to 256"},
        {"alice:" + hex(16), "line 2: the name has a key already"},
    };
    for (const auto& [line, why] : wrong) EXPECT_EQ(failure(good + line), why);
}

TEST(TlsKeys, AFileWithoutAnyIsRefused) {
    EXPECT_EQ(failure(""), "no keys");
    EXPECT_EQ(failure("\n\n"), "no keys");
}

TEST(TlsKeys, RandomTextIsAlwaysAnsweredWithKeysOrAReason) {
    std::mt19937 random(20261121);
    const std::string letters = "a:#f0\n\r" + std::string(1, '\0');
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string text(random() % 80, ' ');
        for (char& c : text) c = letters[random() % letters.size()];
        refused += failure(text) == "none" ? 0 : 1;
    }
    EXPECT_GT(refused, 19'000);
}

}  // namespace
}  // namespace blkscope::nbd
