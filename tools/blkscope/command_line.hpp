// The command lines of both programs:
//
//     blkscope         serve, attach, detach; each other command is another program's: see programs.hpp
//     blkscope-tools   the commands that look at running servers, and those that change them
//
// A user types blkscope, and every message names it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope {

/// A command line. The first word is the name of the program.
using Words = std::vector<std::string>;

/// The commands of one program.
class CommandSet {
  public:
    virtual ~CommandSet() = default;
    CommandSet& operator=(CommandSet&&) = delete;

    virtual void add_to(CLI::App& app) = 0;

    /// Runs the command that `app` has parsed, and returns the exit status. Throws CLI::ParseError and
    /// std::invalid_argument for wrong usage, and any other exception if the command fails.
    virtual int run(const CLI::App& app) = 0;
};

/// Runs the command that the words name. Returns the exit status: 0, 1 if the command fails, or 2 for
/// wrong usage. A line on standard error explains the last two. `check` has statuses of its own.
int run_commands(CommandSet& commands, const Words& words);

/// The number of an option --seed. Throws CLI::ValidationError if the text is no number: CLI11 takes -1
/// for the largest number.
uint64_t parse_seed(const std::string& text);

}  // namespace blkscope
