// kstat: connects the options, the reader, the reports and the clock.

#include "tools/program/main.hpp"

#include <clocale>
#include <ctime>

#include "tools/kstat/options.hpp"
#include "tools/kstat/reader.hpp"
#include "tools/kstat/report.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/signals.hpp"

namespace blkscope::kstat_command {

namespace {

// The exit statuses besides wrong_usage.
constexpr int matched = 0;
constexpr int nothing_matched = 1;
constexpr int failed = 3;

int run(const Options& options) {
    auto pace = program::Pace::of(options.interval_s, options.count);
    Reader reader(options);
    Reporter reporter(options);
    try {
        do {
            std::string text = reporter.report(reader.read(), std::time(nullptr));
            if (!pace.at_last() && !options.quiet) text += '\n';
            program::print(text);
        } while (pace.wait());
    } catch (const program::OutputClosed&) {
    } catch (const BadPattern& bad) {
        throw Refusal{wrong_usage, std::string("kstat: ") + bad.what() + "\n"};
    }
    return reporter.matched() ? matched : nothing_matched;
}

int main_program(std::vector<std::string> arguments) {
    program::watch_signals();
    return program::obey(
        {"kstat", failed, [] { program::complain(help_text()); }},
        [&] { return parse_options(std::move(arguments)); }, run);
}

}  // namespace

}  // namespace blkscope::kstat_command

int main(int argc, char** argv) {
    // The date is in the user's language; numbers are not.
    std::setlocale(LC_TIME, "");  // NOLINT(concurrency-mt-unsafe): before any thread could exist
    return blkscope::kstat_command::main_program({argv, argv + argc});
}
