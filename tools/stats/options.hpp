// The command line of `blkscope stats`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope::stats_command {

struct Options {
    std::vector<std::string> devices;  // empty: all that are served
    bool json = false;
};

/// Adds the subcommand `stats`, which fills `options` when it is parsed.
///
/// Ownership: borrows `options` until `app` is destroyed.
void add_command(CLI::App& app, Options& options);

}  // namespace blkscope::stats_command
