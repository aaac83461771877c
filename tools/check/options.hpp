// The command line of `blkscope check`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope::check {

struct Options {
    std::vector<std::string> conditions;
    std::string since;     // the file of an earlier report; empty: none
    std::string duration;  // the time to watch, as 5s; empty: none
    std::string save;      // the file for a look, which is all then; empty: none
};

/// Adds the subcommand `check`, which fills `options` when it is parsed.
///
/// Ownership: borrows `options` until `app` is destroyed.
void add_command(CLI::App& app, Options& options);

/// The time of --for, as 500ms, 10s or 2m: up to a day. None for any other text.
[[nodiscard]] std::optional<std::chrono::milliseconds> duration_of(std::string_view text);

}  // namespace blkscope::check
