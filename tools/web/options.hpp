// The command line of `blkscope web`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope::web {

struct Options {
    std::string listen = "127.0.0.1:9410";
    std::vector<std::string> hosts;  // further names of this server
    std::string token_file;          // empty: none
    std::string certificates;        // a folder; empty: no TLS
    bool verify_peer = false;
    bool is_public = false;
    bool clients_named = true;
};

/// Adds the subcommand `web`, which fills `options` when it is parsed.
///
/// Ownership: borrows `options` until `app` is destroyed.
void add_command(CLI::App& app, Options& options);

}  // namespace blkscope::web
