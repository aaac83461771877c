#include "tools/kstat2/options.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <utility>

namespace blkscope::kstat2_command {
namespace {

constexpr std::string_view scheme = "kstat:";

constexpr auto grammar = "jlpqhdmi:c:T:g:r:";

constexpr std::array flags{program::Flag<Options>{'h', &Options::scaled},
                           program::Flag<Options>{'d', &Options::descriptions},
                           program::Flag<Options>{'m', &Options::metadata}};

[[noreturn]] void refuse(const std::string& why) {
    throw Refusal{wrong_usage, "kstat2: " + why + "\n" + usage_text()};
}

int positive(char letter, const std::string& argument) {
    const auto value = program::positive(argument);
    if (!value) refuse(fmt::format("-{} takes a whole number from 1, not '{}'", letter, argument));
    return *value;
}

Stamp stamp_of(const std::string& argument) {
    const auto stamp = program::stamp_of(argument);
    if (!stamp) refuse(fmt::format("-T takes d or u, not '{}'", argument));
    return *stamp;
}

// Reads the options, then the operands. Throws Refusal for a wrong command line.
class Parser {
  public:
    void take(int letter, const char* argument);
    void take_operand(const std::string& text);
    Options finish();

  private:
    void take_format(Format format);

    Options options_;
    int formats_ = 0;
};

void Parser::take_format(Format format) {
    if (options_.format != format) ++formats_;
    options_.format = format;
}

void Parser::take(int letter, const char* argument) {
    switch (letter) {
        case 'j':
            return take_format(Format::json);
        case 'l':
            return take_format(Format::names);
        case 'p':
            return take_format(Format::tabs);
        case 'q':
            return take_format(Format::quiet);
        case 'i':
            options_.interval_s = positive('i', argument);
            return;
        case 'c':
            options_.count = positive('c', argument);
            return;
        case 'T':
            options_.stamp = stamp_of(argument);
            return;
        case 'g':
            options_.globs.emplace_back(argument);
            return;
        case 'r':
            options_.expressions.emplace_back(argument);
            return;
        default:
            if (program::set_flag(options_, flags, letter)) return;
            refuse(program::option_error(letter, argument));
    }
}

void Parser::take_operand(const std::string& text) {
    auto operand = parse_operand(text);
    if (!operand) refuse(fmt::format("'{}' is not a URI, such as /disk/sd/sd0:reads", text));
    options_.operands.push_back(std::move(*operand));
}

Options Parser::finish() {
    if (formats_ > 1) refuse("-j, -l, -p and -q exclude each other");
    if (formats_ == 1 && (options_.scaled || options_.descriptions)) {
        refuse("-h and -d do not go with -j, -l, -p and -q");
    }
    if (options_.count && !options_.interval_s) options_.interval_s = 1;
    return std::move(options_);
}

Options parse(const std::vector<std::string>& arguments) {
    Parser parser;
    const auto operands =
        program::read_options(arguments, grammar, std::bind_front(&Parser::take, &parser));
    if (const auto why = program::late_option_error(arguments, operands)) refuse(*why);
    for (const std::string& operand : operands) parser.take_operand(operand);
    return parser.finish();
}

bool is_path(std::string_view path) {
    if (path == "/") return true;
    return path.starts_with('/') && !path.ends_with('/') &&
           path.find("//") == std::string_view::npos;
}

}  // namespace

std::optional<Operand> parse_operand(std::string_view text) {
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
    const size_t end = text.find_first_of(";:");
    const std::string_view path = text.substr(0, end);
    if (!is_path(path)) return std::nullopt;
    Operand operand{std::string(scheme).append(path), std::nullopt};
    if (end == std::string_view::npos) return operand;
    operand.statistic = text.substr(end + 1);
    if (operand.statistic->empty()) return std::nullopt;
    return operand;
}

program::Parsed<Options> parse_options(const std::vector<std::string>& arguments) {
    if (program::asks_for_help(arguments)) return Help{};
    return program::parsed([&] { return parse(arguments); });
}

}  // namespace blkscope::kstat2_command
