#include "tools/iostat/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

namespace blkscope::iostat {
namespace {

constexpr auto grammar = "hcCdDeEiIjLmMnpPqrsStuwxXyYzl:T:";

const std::vector<std::string> long_options{"--clients", "--help", "--must-exist", "--style"};

using Flag = program::Flag<Options>;

[[noreturn]] void refuse(const std::string& why = {}) {
    throw Refusal{1, why + usage_text()};
}

[[noreturn]] void refuse_value(std::string_view what, std::string_view value) {
    std::string_view allowed = what == "interval"
                                   ? "; an interval is a whole number of seconds, 1 or more"
                                   : "; it is a whole number, 1 or more";
    if (what == "count" && !program::begins_with_digit(value) && !value.starts_with('-')) {
        allowed = "; disks come before the numbers, as in 'iostat -xn nbd0 1'";
    }
    throw Refusal{2, fmt::format("iostat: invalid {} {}{}\n", what, value, allowed)};
}

[[noreturn]] void refuse_together(char one, char other) {
    refuse(fmt::format("-{} and -{} are incompatible.\n", one, other));
}

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

// Reads the options one after another. Throws Refusal for a wrong command line.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operands(const std::vector<std::string>& operands);

    /// Must be called between the letters and the operands: sets the mode and the default.
    void settle_classes();

    /// Must be called last: refuses options that exclude each other.
    void check() const;

    [[nodiscard]] const Options& options() const { return options_; }

  private:
    void take_paths(Paths paths);
    void take_limit(const char* argument);
    void take_stamp(std::string_view argument);

    Options options_;
    bool extended_ = false;
    bool transfers_ = false;
    bool rates_ = false;
};

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'h':
            throw Help{};
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
            return take_stamp(argument);
        default:
            if (program::set_flag(options_, flags, letter)) return;
            refuse("iostat: " + program::option_error(letter, argument, long_options) + "\n");
    }
}

void Parser::take_paths(Paths paths) {
    if (options_.paths != Paths::none && options_.paths != paths) refuse_together('X', 'Y');
    options_.paths = paths;
}

void Parser::settle_classes() {
    if (transfers_ && rates_) refuse_together('d', 'D');
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
        // A horizontal report omits errors, as in the original. A table has no place in it.
        const char horizontal = transfers_ ? 'd' : 'D';
        if (tables && !o.json) refuse_together(horizontal, o.waits ? 'w' : 'L');
        o.errors = false;
        o.listing = false;
    }
    if (o.controllers && ((o.mode != Mode::extended && !o.errors) || o.listing)) {
        throw Refusal{2, "iostat: -C can only be used with -e or -x.\n"};
    }
}

void Parser::check() const {
    const Options& o = options_;
    if (o.json && o.comma_separated) refuse_together('j', 'r');
    for (const Flag& flag : {Flag{'y', &Options::first_skipped}, Flag{'S', &Options::summary}}) {
        if (!(o.*flag.member) || o.interval_s) continue;
        refuse(fmt::format("iostat: -{} needs an interval.\n", flag.letter));
    }
}

void Parser::take_limit(const char* argument) {
    options_.limit = program::decimal(argument);
    if (!options_.limit) refuse_value("limit", argument);
    if (*options_.limit < 1) {
        refuse(fmt::format("iostat: the limit is a whole number, 1 or more, not {}\n", argument));
    }
}

void Parser::take_stamp(std::string_view argument) {
    const auto stamp = program::stamp_of(argument.substr(0, 1));
    if (!stamp) refuse(fmt::format("iostat: -T takes d or u, not '{}'\n", argument));
    options_.stamp = *stamp;
}

int positive(std::string_view what, const std::string& operand) {
    const std::optional<int> value = program::positive(operand);
    if (!value) refuse_value(what, operand);
    return *value;
}

void Parser::take_operands(const std::vector<std::string>& operands) {
    const bool named = options_.devices_wanted();
    const auto numbers = std::ranges::find_if(operands, [&](const std::string& operand) {
        return !named || program::begins_with_digit(operand);
    });
    options_.devices.assign(operands.begin(), numbers);
    const auto left = operands.end() - numbers;
    if (left > 0) options_.interval_s = positive("interval", numbers[0]);
    if (left > 1) options_.count = positive("count", numbers[1]);
    if (left > 2) {
        refuse(fmt::format("iostat: '{}' is one word too many behind the interval and the count\n",
                           numbers[2]));
    }
}

}  // namespace

program::Parsed<Options> parse_options(std::vector<std::string> arguments) {
    return program::parsed([&] {
        if (program::asks_for_help(arguments)) throw Help{};
        const bool must_exist = std::erase(arguments, "--must-exist") > 0;
        const bool clients = std::erase(arguments, "--clients") > 0;
        Parser parser;
        const auto operands =
            program::read_options(arguments, grammar, std::bind_front(&Parser::take, &parser));
        if (const auto why = program::late_option_error(arguments, operands, long_options)) {
            throw Refusal{2, "iostat: " + *why + "\n"};
        }
        parser.settle_classes();
        parser.take_operands(operands);
        parser.check();
        Options options = parser.options();
        options.must_exist = must_exist;
        options.clients = clients;
        return options;
    });
}

}  // namespace blkscope::iostat
