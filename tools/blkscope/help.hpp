// Help for blkscope's command line: --help in 80 columns, and the message for an unknown command.
//
// Threads: any.
// Errors:  none.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace blkscope {

/// A name, and beside or below it a text, in lines that fit the screen.
std::string help_entry(const std::string& name, const std::string& text);

/// Prints an option as "--queue-depth N". The second column has its purpose, its range and its
/// default. An application must get this formatter before its subcommands.
class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter();

    std::string make_option(const CLI::Option* option, bool is_positional) const override;
    std::string make_subcommand(const CLI::App* subcommand) const override;
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_description(const CLI::App* app) const override;
};

/// "there is no command 'srv'; the nearest is 'serve'". If no command is near, lists all commands.
std::string no_such_command(const std::string& word, const std::vector<std::string>& commands);

}  // namespace blkscope
