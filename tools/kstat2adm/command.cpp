#include "tools/kstat2adm/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace blkscope::kstat2adm {
namespace {

constexpr auto synopsis = R"(Usage: kstat2adm
       kstat2adm [-v] {enable | disable | default} id ...
)";

constexpr auto explanation = R"(
Lists the statistics that providers make only when asked to, or has them made.

  enable, disable   for as long as the provider lives
  default           as the provider began
  -v                say what was done

PSTATE is the state after the provider's next start.

Exit status: 0 done, 1 not (no such id, wrong usage, failure), 2 no permission.
)";

Refusal refusal(const std::string& why) {
    return {failed, "kstat2adm: " + why + "\n" + synopsis};
}

std::optional<kstat2_optional_state_t> state_of(const std::string& word) {
    if (word == "enable") return KSTAT2_OPT_ENABLE;
    if (word == "disable") return KSTAT2_OPT_DISABLE;
    if (word == "default") return KSTAT2_OPT_DEFAULT;
    return std::nullopt;
}

const char* name_of(kstat2_optional_state_t state) {
    return state == KSTAT2_OPT_ENABLE ? "enabled" : "disabled";
}

}  // namespace

std::string help_text() {
    return std::string(synopsis) + explanation;
}

program::Parsed<Command> parse_command(std::span<const std::string> arguments) {
    Command command;
    for (const std::string& argument : arguments.subspan(std::min<size_t>(1, arguments.size()))) {
        if (command.state) {
            command.ids.push_back(argument);
        } else if (argument == "--help") {
            return Help{};
        } else if (argument == "-v") {
            command.verbose = true;
        } else if (const auto state = state_of(argument)) {
            command.state = state;
        } else {
            return refusal(fmt::format("'{}' is neither enable, disable nor default", argument));
        }
    }
    if (command.state && command.ids.empty()) return refusal("which statistics?");
    return command;
}

std::string list_text(std::span<const kstat2_optional_t> optionals) {
    size_t width = std::strlen("IDENTIFIER");
    for (const auto& optional : optionals) width = std::max(width, std::strlen(optional.id));
    const auto line = [width](const char* id, const char* by_default, const char* state,
                              const char* pstate, const char* desc) {
        return fmt::format("{:<{}}  {:<8}  {:<8}  {:<8}  {}\n", id, width, by_default, state,
                           pstate, desc);
    };
    std::string text = line("IDENTIFIER", "DEFAULT", "STATE", "PSTATE", "DESCRIPTION");
    for (const auto& optional : optionals) {
        text += line(optional.id, name_of(optional.default_state), name_of(optional.state),
                     name_of(optional.pstate), optional.desc);
    }
    return text;
}

std::string done_text(const std::string& id, kstat2_optional_state_t state) {
    if (state == KSTAT2_OPT_DEFAULT) return id + ": as by default\n";
    return fmt::format("{}: {}\n", id, name_of(state));
}

}  // namespace blkscope::kstat2adm
