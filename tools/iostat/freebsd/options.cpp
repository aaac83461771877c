#include "tools/iostat/freebsd/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace blkscope::iostat::freebsd {
namespace {

constexpr auto synopsis =
    "usage: iostat --style=freebsd [-CdhIKoTxz] [-c count] [-n devs]\n"
    "              [-t type,if,pass] [-w wait] [--must-exist] [drives]\n"
    "              [wait [count]]\n";

constexpr auto grammar = "c:CdhIKM:n:N:ot:Tw:xz";

const std::vector<std::string> long_options{"--help", "--must-exist", "--style"};

using Flag = program::Flag<Options>;

constexpr std::array flags{
    Flag{'C', &Options::cpu},       Flag{'h', &Options::busiest_first}, Flag{'I', &Options::totals},
    Flag{'K', &Options::kilobytes}, Flag{'o', &Options::old_columns},   Flag{'T', &Options::tty},
    Flag{'x', &Options::extended},  Flag{'z', &Options::idle_hidden},
};

[[noreturn]] void refuse(const std::string& why) {
    throw Refusal{1, "iostat: " + why + "\n" + synopsis};
}

// Parses seconds, cut to milliseconds. The result must be at least one millisecond.
std::optional<std::chrono::milliseconds> wait_of(const std::string& text) {
    const auto seconds = program::decimal<double>(text);
    constexpr double ms_per_s = 1000;
    constexpr double seconds_max = 1e9;
    if (!seconds || !(*seconds * ms_per_s >= 1) || *seconds > seconds_max) return {};
    return std::chrono::milliseconds(static_cast<int64_t>(std::floor(*seconds * ms_per_s)));
}

// Reads the options one after another. Throws Refusal for a wrong command line.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operands(const std::vector<std::string>& operands);
    /// Must be called last: sets the defaults of what was not given.
    void settle();

    [[nodiscard]] const Options& options() const { return options_; }

  private:
    void take_wait(const std::string& text);
    void take_count(const std::string& text);
    void take_devices(const std::string& text);
    [[nodiscard]] int devices_that_fit() const;

    Options options_;
    bool devices_only_ = false;  // -d
    bool wait_given_ = false;
    bool count_given_ = false;
    bool devices_given_ = false;  // -n
};

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'c':
            return take_count(argument);
        case 'd':
            devices_only_ = true;
            return;
        case 'n':
            return take_devices(argument);
        case 't':
            options_.matches.emplace_back(argument);
            return;
        case 'w':
            return take_wait(argument);
        case 'M':
            refuse("-M: there is no kernel memory to read");
        case 'N':
            return;  // names the file with the kernel's symbols, which only -M needs
        default:
            if (program::set_flag(options_, flags, letter)) return;
            refuse(program::freebsd_option_error(letter, argument, long_options));
    }
}

void Parser::take_wait(const std::string& text) {
    const auto wait = wait_of(text);
    if (!wait) refuse("invalid wait interval '" + text + "'; at least 0.001 seconds");
    options_.wait = *wait;
    wait_given_ = true;
}

void Parser::take_count(const std::string& text) {
    options_.count = program::positive(text);
    if (!options_.count) refuse("invalid count '" + text + "'");
    count_given_ = true;
}

void Parser::take_devices(const std::string& text) {
    const auto count = text == "0" ? std::optional(0) : program::positive(text);
    if (!count) refuse("invalid number of devices '" + text + "'");
    options_.devices_max = *count;
    devices_given_ = true;
}

// A drive does not begin with a digit. Behind the drives, the interval and the count may follow in
// the old form.
void Parser::take_operands(const std::vector<std::string>& operands) {
    const auto numbers = std::ranges::find_if(operands, program::begins_with_digit);
    options_.drives.assign(operands.begin(), numbers);
    const auto left = operands.end() - numbers;
    if (left > 2) refuse("unexpected operand '" + numbers[2] + "'");
    if (left > 0 && wait_given_) {
        options_.warnings += "iostat: the wait interval " + numbers[0] + " replaces that of -w\n";
    }
    if (left > 1 && count_given_) {
        options_.warnings += "iostat: the count " + numbers[1] + " replaces that of -c\n";
    }
    if (left > 0) take_wait(numbers[0]);
    if (left > 1) take_count(numbers[1]);
}

int Parser::devices_that_fit() const {
    if (options_.extended) return std::numeric_limits<int>::max();
    const bool narrow = devices_only_ && !options_.cpu;
    if (options_.old_columns) return narrow ? 5 : 4;
    return narrow ? 4 : 3;
}

void Parser::settle() {
    if (!devices_only_ && !options_.extended) {
        options_.cpu = true;
        options_.tty = true;
    }
    if (!devices_given_) {
        options_.devices_max =
            std::max(devices_that_fit(), static_cast<int>(options_.drives.size()));
    }
    if (wait_given_ && !count_given_) options_.count.reset();
}

}  // namespace

bool take_style(std::vector<std::string>& arguments) {
    const auto at = std::ranges::find_if(
        arguments, [](const std::string& argument) { return argument.starts_with("--style"); });
    if (at == arguments.end()) return false;
    const bool apart = *at == "--style" && at + 1 != arguments.end();
    const std::string name = apart ? at[1] : at->substr(std::min(at->find('=') + 1, at->size()));
    if (name != "freebsd" && name != "solaris") return false;
    arguments.erase(at, at + (apart ? 2 : 1));
    return name == "freebsd";
}

program::Parsed<Options> parse_options(std::vector<std::string> arguments) {
    return program::parsed([&] {
        if (program::asks_for_help(arguments)) throw Help{};
        const bool must_exist = std::erase(arguments, "--must-exist") > 0;
        Parser parser;
        const auto operands =
            program::read_options(arguments, grammar, std::bind_front(&Parser::take, &parser));
        if (const auto why = program::late_option_error(arguments, operands, long_options)) {
            refuse(*why);
        }
        parser.take_operands(operands);
        parser.settle();
        Options options = parser.options();
        options.must_exist = must_exist;
        return options;
    });
}

}  // namespace blkscope::iostat::freebsd
