#include "tools/program/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace blkscope::program {

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
    while ((letter = getopt(argc, argv.data(), whole.c_str())) != -1) take(letter, optarg);
    return {arguments.begin() + optind, arguments.end()};
}

std::string option_error(int letter) {
    return fmt::format("{} -- {:c}",
                       letter == ':' ? "option requires an argument" : "illegal option", optopt);
}

std::string freebsd_option_error(int letter) {
    return fmt::format("{} -{:c}", letter == ':' ? "no value for" : "unknown option", optopt);
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
