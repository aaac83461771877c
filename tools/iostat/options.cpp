#include "iostat/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "iostat/usage.hpp"

namespace blkscope::iostat {

namespace {

// '+': the first operand ends the options. ':': a missing argument is told apart from an unknown
// option.
constexpr auto grammar = "+:hdDxnzIMrspPl:T:cCeEimtXY";

std::optional<int> strict_decimal(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

Refusal wrong_usage(const std::string& why = {}) {
    return {1, why + usage_text()};
}

Refusal bad_value(std::string_view what, std::string_view value) {
    return {2, fmt::format("iostat: invalid {} {}\n", what, value)};
}

// Takes in the options one after another; refusal() says what was wrong with the last.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operands(const std::vector<std::string>& operands);

    [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }
    [[nodiscard]] bool help_wanted() const { return help_; }
    [[nodiscard]] const Options& options() const { return options_; }

  private:
    void take_mode(Mode mode);
    void take_flag(int letter);
    void take_limit(const char* argument);
    void take_stamp(char letter);
    std::optional<int> take_positive(std::string_view what, const std::string& operand);

    Options options_;
    std::optional<Refusal> refusal_;
    bool help_ = false;
    bool transfers_ = false;
    bool rates_ = false;
};

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'h':
            help_ = true;
            return;
        case 'x':
            return take_mode(Mode::extended);
        case 'd':
            return take_mode(Mode::transfers);
        case 'D':
            return take_mode(Mode::rates);
        case 'l':
            return take_limit(argument);
        case 'T':
            return take_stamp(*argument);
        default:
            return take_flag(letter);
    }
}

void Parser::take_mode(Mode mode) {
    transfers_ |= mode == Mode::transfers;
    rates_ |= mode == Mode::rates;
    if (transfers_ && rates_) refusal_ = wrong_usage("-d and -D are incompatible.\n");
    if (options_.mode != Mode::extended) options_.mode = mode;  // -x beats the others
}

void Parser::take_flag(int letter) {
    switch (letter) {
        case 'n':
            options_.names_last = true;
            return;
        case 'z':
            options_.idle_hidden = true;
            return;
        case 'I':
            options_.counts = true;
            return;
        case 'M':
            options_.megabytes = true;
            return;
        case 'r':
            options_.comma_separated = true;
            return;
        case 's':
            options_.changes_silent = true;
            return;
        case 'p':
            options_.partitions = true;
            return;
        case 'P':
            options_.partitions = true;
            options_.disks = false;
            return;
        case '?':
            refusal_ = wrong_usage(fmt::format("iostat: illegal option -- {:c}\n", optopt));
            return;
        case ':':
            refusal_ =
                wrong_usage(fmt::format("iostat: option requires an argument -- {:c}\n", optopt));
            return;
        default:  // the rest of the original's letters, which the grammar knows
            refusal_ = {2, fmt::format("iostat: -{:c} is not available in this version\n", letter)};
    }
}

void Parser::take_limit(const char* argument) {
    options_.limit = strict_decimal(argument);
    if (!options_.limit) {
        refusal_ = bad_value("limit", argument);
    } else if (*options_.limit < 1) {
        refusal_ = wrong_usage();
    }
}

void Parser::take_stamp(char letter) {
    if (letter == 'u') {
        options_.stamp = Stamp::epoch;
    } else if (letter == 'd') {
        options_.stamp = Stamp::date;
    } else {
        refusal_ = wrong_usage();
    }
}

std::optional<int> Parser::take_positive(std::string_view what, const std::string& operand) {
    const std::optional<int> value = strict_decimal(operand);
    if (!value || *value < 1) refusal_ = bad_value(what, operand);
    return value;
}

void Parser::take_operands(const std::vector<std::string>& operands) {
    const auto numbers = std::ranges::find_if(operands, [](const std::string& operand) {
        return std::isdigit(static_cast<unsigned char>(operand.front())) != 0;
    });
    options_.devices.assign(operands.begin(), numbers);
    const auto left = operands.end() - numbers;
    if (left > 0) options_.interval_s = take_positive("interval", numbers[0]);
    if (left > 1 && !refusal_) options_.count = take_positive("count", numbers[1]);
    if (left > 2 && !refusal_) refusal_ = wrong_usage();
}

}  // namespace

std::variant<Options, Help, Refusal> parse_options(std::vector<std::string> arguments) {
    if (std::ranges::find(arguments, "--help") != arguments.end()) return Help{};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const auto argc = static_cast<int>(arguments.size());

    Parser parser;
    opterr = 0;
    optind = 0;  // makes glibc start anew, however far an earlier call came
    int letter = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): called once, before any thread could exist
    while ((letter = getopt(argc, argv.data(), grammar)) != -1) {
        parser.take(letter, optarg);
        if (parser.refusal()) return *parser.refusal();
        if (parser.help_wanted()) return Help{};
    }
    parser.take_operands({arguments.begin() + optind, arguments.end()});
    if (parser.refusal()) return *parser.refusal();
    return parser.options();
}

}  // namespace blkscope::iostat
