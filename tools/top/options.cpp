#include "tools/top/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "tools/program/options.hpp"

namespace blkscope::top {
namespace {

constexpr const char* notes =
    "Each interval it shows what the devices did, as 'iostat -xnu' does, and for one\n"
    "of them where the time went: heatmaps of the time that requests waited, and that\n"
    "they were served.\n"
    "\n"
    "Keys: q quit, space freeze, 1-9 or j k or the arrows choose a device, s sorts,\n"
    "c shows its clients, + - change the interval, h explains. If input or output is\n"
    "no terminal, it prints lines as 'iostat -xn' does. NO_COLOR in the environment\n"
    "is --no-color.\n"
    "\n"
    "Examples:\n"
    "  blkscope top\n"
    "  blkscope top nbd0 0.5\n"
    "  blkscope top --batch 1 60 > minute.txt";

[[noreturn]] void refuse(const std::string& why) {
    throw CLI::ValidationError(why, CLI::ExitCodes::ValidationError);
}

// The names of devices come first; what begins as a number is none.
bool is_number(std::string_view word) {
    return word.find_first_of("0123456789") == 0 ||
           (word.size() > 1 && (word[0] == '.' || word[0] == '-') && std::isdigit(word[1]) != 0);
}

double parse_interval(const std::string& word) {
    char* end = nullptr;
    const double seconds = std::strtod(word.c_str(), &end);
    if (*end == '\0' && seconds >= interval_s_min && seconds <= interval_s_max) return seconds;
    refuse(fmt::format("the interval '{}' is not {} to {} seconds", word, interval_s_min,
                       interval_s_max));
}

unsigned parse_looks(const std::string& word) {
    const auto looks = program::decimal<unsigned>(word);
    if (looks && *looks > 0) return *looks;
    refuse(fmt::format("the number of looks '{}' is no whole number above 0", word));
}

void take_operands(Options& options, const std::vector<std::string>& words) {
    size_t numbers = 0;
    for (const std::string& word : words) {
        if (!is_number(word)) {
            if (numbers > 0) {
                refuse(fmt::format("'{}' is behind a number; devices come first, as in nbd0 1 10",
                                   word));
            }
            options.devices.push_back(word);
            continue;
        }
        ++numbers;
        if (numbers == 1) options.interval_s = parse_interval(word);
        if (numbers == 2) options.count = parse_looks(word);
        if (numbers > 2) refuse(fmt::format("'{}' is one word too many", word));
    }
}

}  // namespace

void add_command(CLI::App& app, Options& options) {
    CLI::App* top = app.add_subcommand("top")->footer(notes);
    top->add_option_function<std::vector<std::string>>(
        "device", [&options](const auto& words) { take_operands(options, words); },
        "[DEVICE ...] [INTERVAL [COUNT]]: only these devices (all if not given); the seconds "
        "between looks (0.1 to 3600, default 1); the number of looks, after which it ends");
    top->add_option_function<std::vector<std::string>>(
           "--device",
           [&options](const auto& names) {
               options.devices.insert(options.devices.end(), names.begin(), names.end());
           },
           "The same as a device without it")
        ->option_text("NAME")
        ->allow_extra_args(false);  // the word behind the name is another operand
    top->add_flag_callback(
        "--no-color", [&options] { options.color = false; },
        "Mark what is past a threshold with + and !");
    top->add_flag("--must-exist", options.must_exist,
                  "Fail if a device that is named is not there");
    top->add_flag("-b,--batch", options.batch, "Print lines, also on a terminal");
}

}  // namespace blkscope::top
