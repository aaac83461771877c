// The command line of kstat2adm, and the text of its list.
#pragma once

#include <kstat2.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/program/options.hpp"

namespace blkscope::kstat2adm {

using program::Help;
using program::Refusal;

/// The exit status for wrong usage, and for an action that failed.
constexpr int failed = 1;

/// A valid command line. Without a state it asks for the list.
struct Command {
    bool verbose = false;  // -v
    std::optional<kstat2_optional_state_t> state;
    std::vector<std::string> ids;  // at least one if there is a state
};

/// Parses `arguments` (the program's name first).
[[nodiscard]] program::Parsed<Command> parse_command(std::span<const std::string> arguments);

[[nodiscard]] std::string help_text();

/// The list: a line of titles, then a line for each optional kstat.
[[nodiscard]] std::string list_text(std::span<const kstat2_optional_t> optionals);

/// The message of -v after a state was set.
[[nodiscard]] std::string done_text(const std::string& id, kstat2_optional_state_t state);

}  // namespace blkscope::kstat2adm
