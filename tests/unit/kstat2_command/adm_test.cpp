#include <gtest/gtest.h>

#include "tools/kstat2adm/command.hpp"

namespace blkscope::kstat2adm {
namespace {

std::variant<Command, Help, Refusal> parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "kstat2adm");
    return parse_command(arguments);
}

TEST(Kstat2adm, ListsWithoutASubcommand) {
    const auto parsed = parse({});
    EXPECT_FALSE(std::get<Command>(parsed).state);
    EXPECT_FALSE(std::get<Command>(parse_command({})).state);
}

TEST(Kstat2adm, TakesAStateAndWhatIsToHaveIt) {
    const auto command = std::get<Command>(parse({"-v", "default", "a:b", "-v"}));
    EXPECT_TRUE(command.verbose);
    EXPECT_EQ(command.state, KSTAT2_OPT_DEFAULT);
    EXPECT_EQ(command.ids, (std::vector<std::string>{"a:b", "-v"}));
    EXPECT_EQ(std::get<Command>(parse({"enable", "a"})).state, KSTAT2_OPT_ENABLE);
    EXPECT_EQ(std::get<Command>(parse({"disable", "a"})).state, KSTAT2_OPT_DISABLE);
}

TEST(Kstat2adm, RefusesTheRest) {
    for (const char* word : {"on", "-x", "", "list"}) {
        EXPECT_TRUE(std::holds_alternative<Refusal>(parse({word}))) << word;
    }
    EXPECT_TRUE(std::holds_alternative<Refusal>(parse({"enable"})));
    EXPECT_TRUE(std::holds_alternative<Help>(parse({"--help"})));
}

TEST(Kstat2adm, AlignsItsList) {
    const kstat2_optional_t optionals[] = {
        {"a:b", "one", KSTAT2_OPT_DISABLE, KSTAT2_OPT_ENABLE, KSTAT2_OPT_DISABLE},
        {"module:what", "two", KSTAT2_OPT_ENABLE, KSTAT2_OPT_DISABLE, KSTAT2_OPT_ENABLE}};
    EXPECT_EQ(list_text(optionals),
              "IDENTIFIER   DEFAULT   STATE     PSTATE    DESCRIPTION\n"
              "a:b          disabled  enabled   disabled  one\n"
              "module:what  enabled   disabled  enabled   two\n");
}

}  // namespace
}  // namespace blkscope::kstat2adm
