// The command line of `blkscope report`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope::report {

struct Options {
    std::vector<std::string> command;     // with its arguments; of a comparison the reports after
    std::string output = "report.html";   // a name that ends in .json is the data alone
    std::string every = "100ms";          // the time between two looks
    std::string duration;                 // without a command; empty: none
    std::vector<std::string> conditions;  // of `blkscope check`
    std::vector<std::string> compared;    // earlier reports; empty: none
    std::string slower;                   // of a comparison, as 10%; empty: no gate
};

/// Adds the subcommand `report`, which fills `options` when it is parsed.
///
/// Ownership: borrows `options` until `app` is destroyed.
void add_command(CLI::App& app, Options& options);

}  // namespace blkscope::report
