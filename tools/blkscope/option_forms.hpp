// Forms of options that several commands have.
//
// Ownership: CLI11 keeps the option and writes to `value` when it parses a command line.
// Threads:   one. Errors: CLI::ParseError while a command line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tools/blkscope/command_line.hpp"

namespace blkscope {

/// An option with a value. `form` stands for the value in --help.
template <class Value>
CLI::Option* add_value(CLI::App& app, const char* name, Value& value, const char* form,
                       const char* help) {
    return app.add_option(name, value, help)->option_text(form);
}

/// An option with a number of the range. The number before the command line is the default.
template <class Number>
CLI::Option* add_number(CLI::App& app, const char* name, Number& value, const CLI::Range& range,
                        const char* help) {
    return app.add_option(name, value, help)->capture_default_str()->check(range);
}

/// Refuses nan, which CLI11's ranges take.
inline CLI::Validator is_number() {
    return CLI::Validator(
        [](const std::string& text) {
            const bool nan = std::isnan(std::strtod(text.c_str(), nullptr));
            return nan ? std::string("nan is no number") : std::string();
        },
        "");
}

/// The words of an option, and the function that has a value for each of them.
template <class Value>
struct WordsOf {
    std::optional<Value> (*parse)(std::string_view word);
    std::vector<std::string> words;
};

/// An option whose value is one of some words.
template <class Value>
void add_word(CLI::App& app, const char* name, Value& value,
              const std::type_identity_t<WordsOf<Value>>& of, const char* help) {
    const auto take = [&value, parse = of.parse](const std::string& word) {
        value = parse(word).value();
    };
    app.add_option_function<std::string>(name, take, help)->check(CLI::IsMember(of.words));
}

/// The option --seed, with a number or an optional number as its value.
template <class Seed>
CLI::Option* add_seed(CLI::App& app, Seed& seed, const char* form, const char* help) {
    const auto take = [&seed](const std::string& text) { seed = parse_seed(text); };
    return app.add_option_function<std::string>("--seed", take, help)->option_text(form);
}

}  // namespace blkscope
