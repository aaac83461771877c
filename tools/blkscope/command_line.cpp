#include "tools/blkscope/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "base/descriptor_limit.hpp"
#include "base/log_line.hpp"
#include "tools/blkscope/failure.hpp"
#include "tools/blkscope/help.hpp"
#include "tools/blkscope/usage_error.hpp"
#include "tools/program/nearest.hpp"
#include "tools/program/options.hpp"

namespace blkscope {
namespace {

constexpr const char* about =
    "A userspace block device you can see inside: serves a file, disk or memory\n"
    "over NBD and accounts every request, so that 'iostat -xn 1' tells waiting from\n"
    "service.";

constexpr const char* program_notes =
    "Examples:\n"
    "  blkscope serve memory:1G          serve; then 'iostat -xn 1' shows it\n"
    "  blkscope list                     what is served on this machine, and where\n"
    "  blkscope help serve               the options of a command, with examples";

// Empty unless the command line has words of which the first is no command.
std::string unknown_command(const CLI::App& app, const Words& words) {
    if (words.size() < 2 || words[1].starts_with('-')) return {};
    Words commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    if (std::ranges::find(commands, words[1]) != commands.end()) return {};
    return no_such_command(words[1], commands);
}

// Empty unless the command line has an option that its command does not have.
std::string unknown_option(const CLI::App& command) {
    Words known;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const std::string& word : command.remaining()) {
        if (!word.starts_with("--") || word == "--") continue;
        const std::string meant = option_meant_by(word, known);
        if (meant.empty()) return program::no_such_option(word, known);
        return fmt::format("there is no option '{}'; here it is '{}'", word, meant);
    }
    return {};
}

// Prints one line instead of CLI11's message. The exit status is 0 or 2, not CLI11's.
int explain(const CLI::App& app, const CLI::ParseError& error, const Words& words) {
    std::string why = unknown_command(app, words);
    if (why.empty() && error.get_exit_code() == 0) {  // --help, --version
        const int status = app.exit(error);
        if (!std::cout.flush()) throw std::runtime_error("cannot write the help text");
        return status;
    }
    const auto commands = app.get_subcommands();
    if (why.empty()) why = unknown_option(commands.empty() ? app : *commands.front());
    if (why.empty()) why = plain_reason(error.what());
    const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
    log_line("usage: ", why, "; see 'blkscope", command, " --help'");
    return bad_usage;
}

int parse_and_run(CommandSet& commands, const Words& words) {
    CLI::App app(about, "blkscope");
    app.require_subcommand(1);
    app.set_version_flag("--version", "blkscope " BLKSCOPE_VERSION);
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(program_notes);
    commands.add_to(app);
    try {
        app.parse(Words(words.rbegin(), words.rend() - 1));  // CLI11 takes the last word first
        return commands.run(app);
    } catch (const CLI::ParseError& error) {
        return explain(app, error, words);
    } catch (const std::invalid_argument& error) {
        log_line(error.what());
        return bad_usage;
    }
}

}  // namespace

uint64_t parse_seed(const std::string& text) {
    if (const auto seed = program::decimal<uint64_t>(text)) return *seed;
    throw CLI::ValidationError("--seed", text + " is no whole number");
}

int run_commands(CommandSet& commands, const Words& words) {
    raise_descriptor_limit();
    try {
        const int status = parse_and_run(commands, words);
        if (std::fflush(stdout) == 0) return status;
        log_line("cannot write: ", std::generic_category().message(errno));
    } catch (const std::exception& failure) {
        log_line(failure_text(failure));
    }
    return 1;
}

}  // namespace blkscope
