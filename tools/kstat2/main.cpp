// kstat2: connects the options, the reader, the reports and the clock.

#include "tools/program/main.hpp"

#include <clocale>
#include <ctime>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/reader.hpp"
#include "tools/kstat2/report.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/signals.hpp"

namespace blkscope::kstat2_command {

namespace {

// The exit statuses besides wrong_usage.
constexpr int matched = 0;
constexpr int nothing_matched = 1;
constexpr int failed = 3;

int run(const Options& options) {
    auto pace = program::Pace::of(options.interval_s, options.count);
    int status = nothing_matched;
    try {
        Reader reader(options);
        do {
            const auto readings = reader.read();
            if (!readings.empty()) status = matched;
            program::print(report(options, readings, std::time(nullptr)));
        } while (pace.wait());
    } catch (const program::OutputClosed&) {
    } catch (const BadPattern& bad) {
        throw Refusal{wrong_usage, std::string("kstat2: ") + bad.what() + "\n"};
    }
    return status;
}

int main_program(std::vector<std::string> arguments) {
    program::watch_signals();
    return program::obey(
        {"kstat2", failed, [] { program::complain(help_text()); }},
        [&] { return parse_options(std::move(arguments)); }, run);
}

}  // namespace

}  // namespace blkscope::kstat2_command

int main(int argc, char** argv) {
    // The date is in the user's language; numbers are not.
    std::setlocale(LC_TIME, "");  // NOLINT(concurrency-mt-unsafe): before any thread could exist
    return blkscope::kstat2_command::main_program({argv, argv + argc});
}
