#include "tools/program/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cassert>

#include "tools/program/nearest.hpp"

namespace blkscope::program {
namespace {

bool is_long(std::string_view word) {
    return word.starts_with("--");
}

// The argument that getopt is at.
size_t place() {
    return static_cast<size_t>(optind);
}

}  // namespace

std::vector<std::string> read_options(
    std::vector<std::string> arguments, const std::string& grammar,
    const std::function<void(int letter, const char* argument)>& take) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const auto argc = static_cast<int>(arguments.size());

    // '+': the first operand ends the options. ':': a missing argument gets another result than an
    // unknown option.
    const std::string whole = "+:" + grammar;
    opterr = 0;
    optind = 0;  // makes glibc start anew, whatever an earlier call has read
    int letter = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): called once, before any thread could exist
    while ((letter = getopt(argc, argv.data(), whole.c_str())) != -1) {
        // Of a long option, getopt has read the dashes only, and refused the second one.
        if (letter == '?' && optopt == '-' && optind < argc && is_long(arguments[place()])) {
            take(long_option, argv[place()]);
            break;
        }
        take(letter, optarg);
    }
    return {arguments.begin() + optind, arguments.end()};
}

std::string option_error(int letter, const char* argument, const std::vector<std::string>& known) {
    if (letter == long_option) return no_such_option(argument, known);
    return fmt::format("{} -- {:c}",
                       letter == ':' ? "option requires an argument" : "illegal option", optopt);
}

std::string freebsd_option_error(int letter, const char* argument,
                                 const std::vector<std::string>& known) {
    if (letter == long_option) return no_such_option(argument, known);
    return fmt::format("{} -{:c}", letter == ':' ? "no value for" : "unknown option", optopt);
}

std::optional<std::string> late_option_error(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& operands,
                                             const std::vector<std::string>& known) {
    assert(operands.size() < arguments.size());  // the program's name is no operand
    if (arguments[arguments.size() - operands.size() - 1] == "--") return {};
    const auto late = std::ranges::find_if(operands, [](const std::string& operand) {
        return operand.size() > 1 && operand[0] == '-' && !begins_with_digit(operand.substr(1));
    });
    if (late == operands.end()) return {};
    const bool is_known = std::ranges::find(known, *late) != known.end();
    if (is_long(*late) && !is_known) return no_such_option(*late, known);
    return fmt::format("option {} is behind the operands; options come first", *late);
}

bool asks_for_help(const std::vector<std::string>& arguments) {
    return std::ranges::find(arguments, "--help") != arguments.end();
}

std::optional<int> positive(std::string_view text) {
    const std::optional<int> value = decimal(text);
    return value && *value >= 1 ? value : std::nullopt;
}

bool begins_with_digit(std::string_view text) {
    return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

}  // namespace blkscope::program
