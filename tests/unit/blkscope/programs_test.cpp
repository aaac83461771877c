#include "tools/blkscope/programs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "tools/blkscope/serving_commands.hpp"
#include "tools/blkscope/tools_commands.hpp"

namespace blkscope {
namespace {

class Programs : public ::testing::Test {
  protected:
    Programs() { std::filesystem::create_directories(bin_); }

    const test::TemporaryFolder top_;
    const std::string bin_ = top_ / "bin";
};

std::vector<std::string> names_of(CommandSet& commands) {
    CLI::App app;
    commands.add_to(app);
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
        names.push_back(command->get_name());
        EXPECT_NE(command->get_description(), "") << command->get_name();
    }
    return names;
}

TEST_F(Programs, HaveTheCommandsThatBlkscopeDoesNotParse) {
    for (const char* name : {"iostat", "gstat", "kstat", "kstat2", "list", "top", "clear-error"}) {
        EXPECT_TRUE(is_other_command(name));
    }
    for (const char* name : {"", "serve", "iostat2", "-iostat", "blkscope-tools"}) {
        EXPECT_FALSE(is_other_command(name));
    }
}

TEST_F(Programs, ToolsHaveTheCommandsThatAreListedForThem) {
    std::vector<std::string> listed;
    for (const OtherCommand& command : other_commands) {
        if (command.program == tools_program) listed.emplace_back(command.name);
    }
    ToolsCommands tools;
    std::vector<std::string> names = names_of(tools);
    std::ranges::sort(names);
    std::ranges::sort(listed);
    EXPECT_EQ(names, listed);
}

TEST_F(Programs, BlkscopesHelpShowsEveryCommandOnce) {
    ServingCommands serving;
    std::vector<std::string> names = names_of(serving);
    EXPECT_EQ(names.size(), 3 + other_commands.size());
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_F(Programs, AreBesideBlkscopeInABuildFolder) {
    EXPECT_EQ(program_path(bin_, "iostat"), bin_ + "/iostat");
    EXPECT_EQ(program_path(bin_, tools_program), bin_ + "/blkscope-tools");
}

// The iostat beside an installed blkscope is sysstat's.
TEST_F(Programs, AreInTheirOwnFolderIfThereIsOne) {
    const std::filesystem::path apart = top_ / "lib/blkscope/bin";
    const std::filesystem::path tools = top_ / "libexec/blkscope";
    std::filesystem::create_directories(apart);
    std::filesystem::create_directories(tools);
    EXPECT_EQ(program_path(bin_, "iostat"), apart / "iostat");
    EXPECT_EQ(program_path(bin_, tools_program), bin_ + "/blkscope-tools");
    std::ofstream(tools / tools_program) << "";
    EXPECT_EQ(program_path(bin_, tools_program), tools / tools_program);
}

TEST(HelpAsAWord, IsTheOptionOfTheCommand) {
    const std::vector<std::string> wanted{"blkscope", "top", "--help"};
    EXPECT_EQ(with_help_as_option({"blkscope", "help", "top"}), wanted);
    EXPECT_EQ(with_help_as_option({"blkscope", "--help", "top", "nbd0"}), wanted);
    EXPECT_EQ(with_help_as_option({"blkscope", "-h", "top"}), wanted);
    EXPECT_EQ(with_help_as_option({"blkscope", "help"}), (Words{"blkscope", "--help"}));
    EXPECT_EQ(with_help_as_option({"blkscope", "top", "help"}), (Words{"blkscope", "top", "help"}));
    EXPECT_EQ(with_help_as_option({"blkscope"}), Words{"blkscope"});
}

}  // namespace
}  // namespace blkscope
