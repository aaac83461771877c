// kstat2adm's command line, and its list.
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

/// The exit status of wrong usage, and of what could not be done.
constexpr int failed = 1;

/// A command line that was understood; without a state it asks for the list.
struct Command {
    bool verbose = false;  // -v
    std::optional<kstat2_optional_state_t> state;
    std::vector<std::string> ids;  // at least one if there is a state
};

/// Understands `arguments` (the program's name first).
[[nodiscard]] program::Parsed<Command> parse_command(std::span<const std::string> arguments);

[[nodiscard]] std::string help_text();

/// The list, a line each under a line of titles.
[[nodiscard]] std::string list_text(std::span<const kstat2_optional_t> optionals);

/// What -v says of a state that was set.
[[nodiscard]] std::string done_text(const std::string& id, kstat2_optional_state_t state);

}  // namespace blkscope::kstat2adm
