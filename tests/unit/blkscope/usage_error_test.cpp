#include "tools/blkscope/usage_error.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace blkscope {
namespace {

// What the user of an application reads, by CLI11's own message.
std::string said(const std::vector<std::string>& words) {
    CLI::App app;
    unsigned depth = 0;
    uint16_t small = 0;
    double seconds = 0;
    std::string order;
    app.add_option("--depth", depth)->check(CLI::Range(1U, 64U));
    app.add_option("--small", small);
    app.add_option("--seconds", seconds)->check(CLI::Range(0.1, 3600.0));
    app.add_option("--looks", depth)->check(CLI::PositiveNumber);
    app.add_option("--order", order)->check(CLI::IsMember({"arrival", "fair"}));
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        return plain_reason(error.what());
    }
    return "accepted";
}

TEST(UsageError, SaysWhatWasTypedAndWhatIsAllowed) {
    EXPECT_EQ(said({"--depth", "0"}), "--depth: '0' is not 1 to 64");
    EXPECT_EQ(said({"--seconds", "9999"}), "--seconds: '9999' is not 0.1 to 3600");
    EXPECT_EQ(said({"--looks", "0"}), "--looks: '0' is not above 0");
    EXPECT_EQ(said({"--small", "99999"}), "--small: '99999' is no whole number, or too large");
    EXPECT_EQ(said({"nbd0"}), "'nbd0' is one word too many");
}

TEST(UsageError, NamesTheNearestOfTheAllowedWords) {
    EXPECT_EQ(said({"--order", "fiar"}),
              "--order: 'fiar' is none of arrival, fair; the nearest is 'fair'");
    EXPECT_EQ(said({"--order", "random"}), "--order: 'random' is none of arrival, fair");
}

TEST(UsageError, KnowsWhatOtherProgramsCallAnOption) {
    EXPECT_EQ(option_meant_by("--port=80", {"--listen", "--host"}), "--listen");
    EXPECT_EQ(option_meant_by("--depth", {"--queue-depth"}), "--queue-depth");
    EXPECT_EQ(option_meant_by("--port", {"--host"}), "");
}

}  // namespace
}  // namespace blkscope
