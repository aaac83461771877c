#include "tools/iostat/freebsd/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace blkscope::iostat::freebsd {
namespace {

constexpr auto synopsis =
    "usage: iostat --style=freebsd [-CdhIKoTxz] [-c count] [-n devs]\n"
    "              [-t type,if,pass] [-w wait] [--must-exist] [drives]\n"
    "              [wait [count]]\n";

Refusal refuse(const std::string& why) {
    return {"iostat: " + why + "\n" + synopsis};
}

std::optional<int> positive(const std::string& text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1) return {};
    return value;
}

// Seconds, cut to milliseconds, of which there must be one.
std::optional<std::chrono::milliseconds> wait_of(const std::string& text) {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    constexpr double ms_per_s = 1000;
    constexpr double seconds_max = 1e9;
    if (error != std::errc{} || end != text.data() + text.size()) return {};
    if (!(seconds * ms_per_s >= 1) || seconds > seconds_max) return {};
    return std::chrono::milliseconds(static_cast<int64_t>(std::floor(seconds * ms_per_s)));
}

// Takes in the options one after another; refusal() says what was wrong with the last.
class Parser {
  public:
    void take(int letter, const std::string& argument);
    void take_operands(const std::vector<std::string>& operands);
    /// To be called last: what follows from what was not said.
    void settle();

    [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }
    [[nodiscard]] const Options& options() const { return options_; }

  private:
    void take_flag(int letter);
    void take_wait(const std::string& text);
    void take_count(const std::string& text);
    void take_devices(const std::string& text);
    [[nodiscard]] int devices_that_fit() const;

    Options options_;
    std::optional<Refusal> refusal_;
    bool devices_only_ = false;  // -d
    bool wait_given_ = false;
    bool count_given_ = false;
    bool devices_given_ = false;  // -n
};

void Parser::take(int letter, const std::string& argument) {
    switch (letter) {
        case 'c':
            return take_count(argument);
        case 'n':
            return take_devices(argument);
        case 't':
            return options_.matches.push_back(argument);
        case 'w':
            return take_wait(argument);
        case 'M':
        case 'N':
            refusal_ =
                refuse(std::string("-") + char(letter) + ": there is no kernel memory to read");
            return;
        case ':':
            refusal_ = refuse(std::string("no value for -") + char(optopt));
            return;
        default:
            return take_flag(letter);
    }
}

void Parser::take_flag(int letter) {
    switch (letter) {
        case 'C':
            options_.cpu = true;
            return;
        case 'd':
            devices_only_ = true;
            return;
        case 'h':
            options_.busiest_first = true;
            return;
        case 'I':
            options_.totals = true;
            return;
        case 'K':
            options_.kilobytes = true;
            return;
        case 'o':
            options_.old_columns = true;
            return;
        case 'T':
            options_.tty = true;
            return;
        case 'x':
            options_.extended = true;
            return;
        case 'z':
            options_.idle_hidden = true;
            return;
        default:
            refusal_ = refuse(std::string("unknown option -") + char(optopt));
    }
}

void Parser::take_wait(const std::string& text) {
    const auto wait = wait_of(text);
    if (!wait) {
        refusal_ = refuse("invalid wait interval '" + text + "'; at least 0.001 seconds");
        return;
    }
    options_.wait = *wait;
    wait_given_ = true;
}

void Parser::take_count(const std::string& text) {
    options_.count = positive(text);
    count_given_ = true;
    if (!options_.count) refusal_ = refuse("invalid count '" + text + "'");
}

void Parser::take_devices(const std::string& text) {
    const auto count = text == "0" ? std::optional(0) : positive(text);
    if (!count) {
        refusal_ = refuse("invalid number of devices '" + text + "'");
        return;
    }
    options_.devices_max = *count;
    devices_given_ = true;
}

// Drives are what does not begin with a digit; behind them may stand the interval and the count as
// they once were given.
void Parser::take_operands(const std::vector<std::string>& operands) {
    const auto numbers = std::ranges::find_if(operands, [](const std::string& operand) {
        return std::isdigit(static_cast<unsigned char>(operand[0])) != 0;
    });
    options_.drives.assign(operands.begin(), numbers);
    const auto left = operands.end() - numbers;
    if (left > 2) refusal_ = refuse("unexpected operand '" + numbers[2] + "'");
    if (left > 0 && wait_given_) {
        options_.warnings += "iostat: the wait interval " + numbers[0] + " replaces that of -w\n";
    }
    if (left > 1 && count_given_) {
        options_.warnings += "iostat: the count " + numbers[1] + " replaces that of -c\n";
    }
    if (left > 0 && !refusal_) take_wait(numbers[0]);
    if (left > 1 && !refusal_) take_count(numbers[1]);
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

std::variant<Options, Help, Refusal> parse_options(std::vector<std::string> arguments) {
    if (std::ranges::find(arguments, "--help") != arguments.end()) return Help{};
    const bool must_exist = std::erase(arguments, "--must-exist") > 0;
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const auto argc = static_cast<int>(arguments.size());

    Parser parser;
    opterr = 0;
    optind = 0;  // makes glibc start anew, however far an earlier call came
    int letter = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): called once, before any thread could exist
    while ((letter = getopt(argc, argv.data(), "+:c:CdhIKM:n:N:ot:Tw:xz")) != -1) {
        parser.take(letter, optarg != nullptr ? optarg : "");
        if (parser.refusal()) return *parser.refusal();
    }
    parser.take_operands({arguments.begin() + optind, arguments.end()});
    if (parser.refusal()) return *parser.refusal();
    parser.settle();
    Options options = parser.options();
    options.must_exist = must_exist;
    return options;
}

}  // namespace blkscope::iostat::freebsd
