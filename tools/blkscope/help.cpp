#include "tools/blkscope/help.hpp"

#include <fmt/format.h>

#include <cassert>
#include <sstream>
#include <string_view>
#include <utility>

#include "tools/program/nearest.hpp"

namespace blkscope {
namespace {

constexpr size_t text_column = 26;
constexpr size_t columns = 80;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.replace(at, what.size(), by);
        at += by.size();
    }
    return text;
}

// Rewrites CLI11's "UINT in [1 - 64]", "{off,on,require}" and "POSITIVE" for the user.
std::string plain(const std::string& constraint) {
    if (constraint == "POSITIVE") return "above 0";
    if (const size_t range = constraint.find(" in ["); range != std::string::npos) {
        const std::string inner = constraint.substr(range + 5, constraint.size() - range - 6);
        return replaced(inner, " - ", " to ");
    }
    if (!constraint.starts_with('{')) return constraint;
    std::string words = constraint.substr(1, constraint.size() - 2);
    const size_t last = words.rfind(',');
    if (last != std::string::npos) words.replace(last, 1, " or ");
    return replaced(words, ",", ", ");
}

bool is_flag(const CLI::Option& option) {
    return option.get_type_name().empty();
}

template <class Options>
std::string names_of(const Options& options) {
    std::string names;
    for (const CLI::Option* option : options) {
        names += (names.empty() ? "" : ", ") + option->get_name();
    }
    return names;
}

// Splits CLI11's "UINT:UINT in [1 - 64]" into the type's name and the constraint.
std::pair<std::string, std::string> type_and_constraint(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const size_t colon = type.find(':');
    if (colon == std::string::npos) return {type, ""};
    return {type.substr(0, colon), plain(type.substr(colon + 1))};
}

// The word behind the option's name: "N", "PATH"; empty for a flag and a positional.
std::string value_name(const CLI::Option& option, bool is_positional) {
    if (is_positional || is_flag(option)) return "";
    if (!option.get_option_text().empty()) return " " + option.get_option_text();
    const std::string type = type_and_constraint(option).first;
    return type == "TEXT" ? " WORD" : " N";
}

std::string description(const CLI::Option& option) {
    std::vector<std::string> notes;
    if (!is_flag(option)) {
        const std::string constraint = type_and_constraint(option).second;
        if (!constraint.empty()) notes.push_back(constraint);
        if (!option.get_default_str().empty()) {
            notes.push_back("default " + option.get_default_str());
        }
    }
    const std::string& text = option.get_description();
    const std::string needed = names_of(option.get_needs());
    if (!needed.empty() && text.find(needed) == std::string::npos) {
        notes.push_back("with " + needed);
    }
    if (!option.get_excludes().empty()) {
        notes.push_back("not with " + names_of(option.get_excludes()));
    }
    return notes.empty() ? text : fmt::format("{} ({})", text, fmt::join(notes, "; "));
}

}  // namespace

std::string help_entry(const std::string& name, const std::string& text) {
    std::string out = "  " + name;
    if (out.size() + 2 > text_column) out += "\n";
    const std::string margin(text_column, ' ');
    size_t column = out.back() == '\n' ? 0 : out.size();
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (column > text_column && column + 1 + word.size() >= columns) {
            out += "\n";
            column = 0;
        }
        const std::string gap = column < text_column ? margin.substr(column) : " ";
        out += gap + word;
        column += gap.size() + word.size();
    }
    return out + "\n";
}

HelpFormatter::HelpFormatter() {
    column_width(text_column);
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
    const std::string name = make_option_name(option, is_positional);
    return help_entry(name + value_name(*option, is_positional), description(*option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* subcommand) const {
    return help_entry(subcommand->get_name(), subcommand->get_description());
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
    return "\n" + CLI::Formatter::make_usage(app, std::move(name));
}

// Omits CLI11's remark about the number of options.
std::string HelpFormatter::make_description(const CLI::App* app) const {
    return app->get_description() + "\n";
}

std::string no_such_command(const std::string& word, const std::vector<std::string>& commands) {
    assert(!commands.empty());
    if (const auto near = program::nearest(word, commands)) {
        return fmt::format("there is no command '{}'; the nearest is '{}'", word, *near);
    }
    return fmt::format("there is no command '{}'; there are {}", word, fmt::join(commands, ", "));
}

}  // namespace blkscope
