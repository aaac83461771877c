#include "tools/kstat2/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "tools/kstat2/usage.hpp"

namespace blkscope::kstat2_command {

namespace {

constexpr std::string_view scheme = "kstat:";

// '+': the first operand ends the options. ':': a missing argument is told apart from an unknown
// option.
constexpr auto grammar = "+:jlpqhdmi:c:T:g:r:";

[[noreturn]] void refuse(const std::string& why) {
    throw Refusal{"kstat2: " + why + "\n" + usage_text()};
}

int positive(char letter, const std::string& argument) {
    int value = 0;
    const char* const end = argument.data() + argument.size();
    const auto parsed = std::from_chars(argument.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 1) {
        refuse(fmt::format("-{} takes a whole number from 1, not '{}'", letter, argument));
    }
    return value;
}

Stamp stamp_of(const std::string& argument) {
    if (argument == "u") return Stamp::epoch;
    if (argument == "d") return Stamp::date;
    refuse(fmt::format("-T takes d or u, not '{}'", argument));
}

// Takes in the options and then the operands; what cannot be obeyed is thrown as a Refusal.
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
        case 'h':
            options_.scaled = true;
            return;
        case 'd':
            options_.descriptions = true;
            return;
        case 'm':
            options_.metadata = true;
            return;
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
        case ':':
            refuse(fmt::format("option requires an argument -- {:c}", optopt));
        default:
            refuse(fmt::format("illegal option -- {:c}", optopt));
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

Options parse(std::vector<std::string>& arguments) {
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
    while ((letter = getopt(argc, argv.data(), grammar)) != -1) parser.take(letter, optarg);
    for (int i = optind; i < argc; ++i) parser.take_operand(arguments[static_cast<size_t>(i)]);
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

std::variant<Options, Help, Refusal> parse_options(std::vector<std::string> arguments) {
    if (arguments.size() > 1 && arguments[1] == "--help") return Help{};
    try {
        return parse(arguments);
    } catch (const Refusal& refusal) {
        return refusal;
    }
}

}  // namespace blkscope::kstat2_command
