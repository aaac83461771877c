// The command line of `blkscope top`.
#pragma once

#include <sys/kstat.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace blkscope::top {

struct Options {
    double interval_s = 1;
    std::optional<unsigned> count;     // number of looks; none: until the user ends the program
    std::vector<std::string> devices;  // empty: all that are served
    bool color = true;
    bool batch = false;       // lines, even on a terminal
    bool must_exist = false;  // a device that is missing is an error

    [[nodiscard]] hrtime_t interval_ns() const {
        return static_cast<hrtime_t>(std::llround(interval_s * 1e9));
    }
};

constexpr double interval_s_min = 0.1;
constexpr double interval_s_max = 3600;

/// Adds the subcommand `top`, which fills `options` when it is parsed.
///
/// Ownership: borrows `options` until `app` is destroyed.
void add_command(CLI::App& app, Options& options);

/// Whether the environment allows colours: NO_COLOR is not set, or empty.
///
/// Source: no-color.org.
[[nodiscard]] constexpr bool color_allowed(const char* no_color) {
    return no_color == nullptr || *no_color == '\0';
}

}  // namespace blkscope::top
