// The command line of `blkscope check`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope::check {

struct Options {
    std::vector<std::string> conditions;
    std::string since;     // the file of an earlier report; empty: none
    std::string duration;  // the time to watch, as 5s; empty: none
    bool json = false;     // one line of JSON in place of the lines
    std::string save;      // the file for a look, which is all then; empty: none
};

/// Adds the subcommand `check`, which fills `options` when it is parsed.
///
/// Ownership: borrows `options` until `app` is destroyed.
void add_command(CLI::App& app, Options& options);

}  // namespace blkscope::check
