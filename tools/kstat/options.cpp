#include "tools/kstat/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tools/kstat/usage.hpp"

namespace blkscope::kstat_command {

namespace {

// '+': the first operand ends the options. ':': a missing argument is told apart from an unknown
// option.
constexpr auto grammar = "+:Cjlpqhc:m:i:n:s:T:";

// An empty operand counts as a number, and as a wrong one.
bool is_number(std::string_view operand) {
    return std::ranges::all_of(operand, [](char c) { return c >= '0' && c <= '9'; });
}

// Takes in the options and then the operands; what cannot be obeyed is thrown as a Refusal.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operand(const std::string& operand);
    Options finish();

    [[nodiscard]] bool help_wanted() const { return help_; }

  private:
    void take_field(Pattern Selector::*field, const char* argument);
    void take_number(const std::string& operand);

    Options options_;
    Selector chosen_;  // by -m, -i, -n, -s
    bool chosen_by_options_ = false;
    bool help_ = false;
    bool tabs_ = false;
    bool colons_ = false;
    bool names_ = false;
    bool json_ = false;
};

[[noreturn]] void refuse(const std::string& why = {}) {
    throw Refusal{(why.empty() ? why : why + "\n") + usage_text()};
}

int positive(std::string_view what, const std::string& operand) {
    int value = 0;
    const auto parsed = std::from_chars(operand.data(), operand.data() + operand.size(), value);
    if (parsed.ec == std::errc::result_out_of_range) refuse(fmt::format("{} is too large", what));
    if (value < 1) refuse(fmt::format("{} must be an integer >= 1", what));
    return value;
}

Stamp stamp_of(char letter) {
    if (letter == 'u') return Stamp::epoch;
    if (letter == 'd') return Stamp::date;
    refuse();
}

void Parser::take_field(Pattern Selector::*field, const char* argument) {
    chosen_.*field = Pattern(argument);
    chosen_by_options_ = true;
}

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'C':
            colons_ = true;
            return;
        case 'j':
            json_ = true;
            return;
        case 'l':
            names_ = true;
            return;
        case 'p':
            tabs_ = true;
            return;
        case 'q':
            options_.quiet = true;
            return;
        case 'h':
            help_ = true;
            return;
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
            options_.stamp = stamp_of(*argument);
            return;
        case ':':
            refuse(fmt::format("kstat: option requires an argument -- {:c}", optopt));
        default:
            refuse(fmt::format("kstat: illegal option -- {:c}", optopt));
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
    const bool listed = tabs_ || colons_ || names_;
    if (options_.quiet && (listed || json_)) refuse("-q and -lpj are mutually exclusive");
    if (chosen_by_options_ && !options_.selectors.empty()) {
        refuse("module:instance:name:statistic and -m -i -n -s are mutually exclusive");
    }
    if (options_.selectors.empty()) options_.selectors.push_back(chosen_);
    options_.class_listed = listed;
    if (tabs_) options_.format = Format::tabs;
    if (colons_) options_.format = Format::colons;
    if (names_) options_.format = Format::names;
    if (json_) options_.format = Format::json;
    return std::move(options_);
}

// Help ends it at once, as a wrong option does.
std::variant<Options, Help, Refusal> parse(std::vector<std::string>& arguments) {
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
    while ((letter = getopt(argc, argv.data(), grammar)) != -1) {
        parser.take(letter, optarg);
        if (parser.help_wanted()) return Help{};
    }
    for (int i = optind; i < argc; ++i) parser.take_operand(arguments[static_cast<size_t>(i)]);
    return parser.finish();
}

}  // namespace

std::variant<Options, Help, Refusal> parse_options(std::vector<std::string> arguments) {
    if (arguments.size() > 1 && arguments[1] == "--help") return Help{};
    try {
        return parse(arguments);
    } catch (const BadPattern& bad) {
        const std::string_view why = bad.what();
        return Refusal{(why.empty() ? "" : fmt::format("kstat: {}\n", why)) + usage_text()};
    } catch (const Refusal& refusal) {
        return refusal;
    }
}

}  // namespace blkscope::kstat_command
