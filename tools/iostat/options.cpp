#include "tools/iostat/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "tools/iostat/usage.hpp"

namespace blkscope::iostat {

namespace {

// '+': the first operand ends the options. ':': a missing argument is told apart from an unknown
// option.
constexpr auto grammar = "+:hcCdDeEiIjLmMnpPqrsStuwxXyYzl:T:";

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

// The letters that stand for themselves.
struct Flag {
    char letter;
    bool Options::*member;
};

constexpr std::array flags{
    Flag{'c', &Options::cpu},
    Flag{'t', &Options::tty},
    Flag{'e', &Options::errors},
    Flag{'E', &Options::listing},
    Flag{'w', &Options::waits},
    Flag{'L', &Options::latencies},
    Flag{'q', &Options::percentiles},
    Flag{'C', &Options::controllers},
    Flag{'i', &Options::device_ids},
    Flag{'j', &Options::json},
    Flag{'n', &Options::names_last},
    Flag{'m', &Options::mount_points},
    Flag{'I', &Options::counts},
    Flag{'M', &Options::megabytes},
    Flag{'u', &Options::microseconds},
    Flag{'r', &Options::comma_separated},
    Flag{'s', &Options::changes_silent},
    Flag{'z', &Options::idle_hidden},
    Flag{'y', &Options::first_skipped},
    Flag{'S', &Options::summary},
    Flag{'p', &Options::partitions},
};

// Takes in the options one after another; refusal() says what was wrong with the last.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operands(const std::vector<std::string>& operands);

    /// To be called between the letters and the operands: who beats whom, and the default.
    void settle_classes();

    /// To be called last: what does not go together.
    void check();

    [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }
    [[nodiscard]] bool help_wanted() const { return help_; }
    [[nodiscard]] const Options& options() const { return options_; }

  private:
    void take_paths(Paths paths);
    void take_flag(int letter);
    void take_limit(const char* argument);
    void take_stamp(char letter);
    std::optional<int> take_positive(std::string_view what, const std::string& operand);
    void refuse_together(std::array<char, 2> letters);

    Options options_;
    std::optional<Refusal> refusal_;
    bool help_ = false;
    bool extended_ = false;
    bool transfers_ = false;
    bool rates_ = false;
};

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'h':
            help_ = true;
            return;
        case 'x':
            extended_ = true;
            return;
        case 'd':
            transfers_ = true;
            return;
        case 'D':
            rates_ = true;
            return;
        case 'P':
            options_.partitions = true;
            options_.disks = false;
            return;
        case 'X':
            return take_paths(Paths::by_initiator);
        case 'Y':
            return take_paths(Paths::by_target);
        case 'l':
            return take_limit(argument);
        case 'T':
            return take_stamp(*argument);
        default:
            return take_flag(letter);
    }
}

void Parser::refuse_together(std::array<char, 2> letters) {
    refusal_ = wrong_usage(fmt::format("-{} and -{} are incompatible.\n", letters[0], letters[1]));
}

void Parser::take_paths(Paths paths) {
    if (options_.paths != Paths::none && options_.paths != paths) refusal_ = wrong_usage();
    options_.paths = paths;
}

void Parser::take_flag(int letter) {
    const auto* const flag =
        std::ranges::find_if(flags, [&](const Flag& f) { return f.letter == letter; });
    if (flag != flags.end()) {
        options_.*flag->member = true;
    } else if (letter == ':') {
        refusal_ =
            wrong_usage(fmt::format("iostat: option requires an argument -- {:c}\n", optopt));
    } else {
        refusal_ = wrong_usage(fmt::format("iostat: illegal option -- {:c}\n", optopt));
    }
}

void Parser::settle_classes() {
    if (transfers_ && rates_) return refuse_together({'d', 'D'});
    Options& o = options_;
    extended_ = extended_ || o.percentiles;
    const bool tables = o.waits || o.latencies;
    const bool vertical = extended_ || o.errors || o.listing || tables;
    if (o.paths != Paths::none && !vertical) extended_ = true;
    const bool any = extended_ || transfers_ || rates_ || vertical || o.cpu || o.tty;
    if (!any) {
        transfers_ = true;
        o.cpu = true;
        o.tty = true;
    }
    o.mode = extended_    ? Mode::extended
             : transfers_ ? Mode::transfers
             : rates_     ? Mode::rates
                          : Mode::none;
    if (o.mode == Mode::transfers || o.mode == Mode::rates) {
        // Errors give way there, as they always did; a table that was asked for has no place.
        const char horizontal = transfers_ ? 'd' : 'D';
        if (tables && !o.json) return refuse_together({horizontal, o.waits ? 'w' : 'L'});
        o.errors = false;
        o.listing = false;
    }
    if (o.controllers && ((o.mode != Mode::extended && !o.errors) || o.listing)) {
        refusal_ = {2, "iostat: -C can only be used with -e or -x.\n"};
    }
}

void Parser::check() {
    const Options& o = options_;
    if (o.json && o.comma_separated) return refuse_together({'j', 'r'});
    for (const Flag& flag : {Flag{'y', &Options::first_skipped}, Flag{'S', &Options::summary}}) {
        if (!(o.*flag.member) || o.interval_s) continue;
        refusal_ = wrong_usage(fmt::format("-{} needs an interval.\n", flag.letter));
        return;
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
    const bool named = options_.devices_wanted();
    const auto numbers = std::ranges::find_if(operands, [&](const std::string& operand) {
        return !named || std::isdigit(static_cast<unsigned char>(operand[0])) != 0;
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
    const bool must_exist = std::erase(arguments, "--must-exist") > 0;
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
    parser.settle_classes();
    if (!parser.refusal()) parser.take_operands({arguments.begin() + optind, arguments.end()});
    if (!parser.refusal()) parser.check();
    if (parser.refusal()) return *parser.refusal();
    Options options = parser.options();
    options.must_exist = must_exist;
    return options;
}

}  // namespace blkscope::iostat
