#include "tools/kstat/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

namespace blkscope::kstat_command {
namespace {

constexpr auto grammar = "Cjlpqhc:m:i:n:s:T:";

// An empty operand counts as a number, so that it is refused as a wrong interval or count.
bool is_number(std::string_view operand) {
    return std::ranges::all_of(operand, [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void refuse(const std::string& why = {}) {
    throw Refusal{wrong_usage, (why.empty() ? why : why + "\n") + usage_text()};
}

int positive(std::string_view what, const std::string& operand) {
    int value = 0;
    const auto parsed = std::from_chars(operand.data(), operand.data() + operand.size(), value);
    if (parsed.ec == std::errc::result_out_of_range) refuse(fmt::format("{} is too large", what));
    if (value < 1) refuse(fmt::format("{} must be an integer >= 1", what));
    return value;
}

// Reads the options, then the operands. Throws Refusal for a wrong command line.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operand(const std::string& operand);
    Options finish();

  private:
    void take_field(Pattern Selector::*field, const char* argument);
    void take_stamp(std::string_view argument);
    void take_number(const std::string& operand);

    struct Forms {
        bool tabs = false;
        bool colons = false;
        bool names = false;
        bool json = false;
    };
    static constexpr std::array form_flags{
        program::Flag<Forms>{'C', &Forms::colons}, program::Flag<Forms>{'j', &Forms::json},
        program::Flag<Forms>{'l', &Forms::names}, program::Flag<Forms>{'p', &Forms::tabs}};

    Options options_;
    Forms forms_;
    Selector chosen_;  // by -m, -i, -n, -s
    bool chosen_by_options_ = false;
};

void Parser::take_field(Pattern Selector::*field, const char* argument) {
    chosen_.*field = Pattern(argument);
    chosen_by_options_ = true;
}

void Parser::take_stamp(std::string_view argument) {
    const auto stamp = program::stamp_of(argument.substr(0, 1));
    if (!stamp) refuse();
    options_.stamp = *stamp;
}

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'q':
            options_.quiet = true;
            return;
        case 'h':
            throw Help{};
        case 'c':
            options_.kstat_class = Pattern(argument);
            return;
        case 'm':
            return take_field(&Selector::module, argument);
        case 'i':
            return take_field(&Selector::instance, argument);
        case 'n':
            return take_field(&Selector::name, argument);
        case 's':
            return take_field(&Selector::statistic, argument);
        case 'T':
            return take_stamp(argument);
        default:
            if (program::set_flag(forms_, form_flags, letter)) return;
            refuse("kstat: " + program::option_error(letter, argument));
    }
}

void Parser::take_number(const std::string& operand) {
    if (!options_.interval_s) {
        options_.interval_s = positive("Interval", operand);
    } else if (!options_.count) {
        options_.count = positive("Count", operand);
    } else {
        refuse();
    }
}

void Parser::take_operand(const std::string& operand) {
    if (is_number(operand)) return take_number(operand);
    options_.selectors.push_back(parse_selector(operand));
}

Options Parser::finish() {
    const bool listed = forms_.tabs || forms_.colons || forms_.names;
    if (options_.quiet && (listed || forms_.json)) refuse("-q and -lpj are mutually exclusive");
    if (chosen_by_options_ && !options_.selectors.empty()) {
        refuse("module:instance:name:statistic and -m -i -n -s are mutually exclusive");
    }
    if (options_.selectors.empty()) options_.selectors.push_back(chosen_);
    options_.class_listed = listed;
    if (forms_.tabs) options_.format = Format::tabs;
    if (forms_.colons) options_.format = Format::colons;
    if (forms_.names) options_.format = Format::names;
    if (forms_.json) options_.format = Format::json;
    return std::move(options_);
}

Options parse(const std::vector<std::string>& arguments) try {
    Parser parser;
    const auto operands =
        program::read_options(arguments, grammar, std::bind_front(&Parser::take, &parser));
    if (const auto why = program::late_option_error(arguments, operands)) refuse("kstat: " + *why);
    for (const std::string& operand : operands) parser.take_operand(operand);
    return parser.finish();
} catch (const BadPattern& bad) {
    const std::string_view why = bad.what();
    refuse(why.empty() ? "" : fmt::format("kstat: {}", why));
}

}  // namespace

program::Parsed<Options> parse_options(const std::vector<std::string>& arguments) {
    if (program::asks_for_help(arguments)) return Help{};
    return program::parsed([&] { return parse(arguments); });
}

}  // namespace blkscope::kstat_command
