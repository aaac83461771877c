// kstat2: connects the options, the reader, the reports and the clock.

#include "tools/program/main.hpp"

#include <ctime>
#include <utility>

#include "tools/kstat2/options.hpp"
#include "tools/kstat2/reader.hpp"
#include "tools/kstat2/report.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/signals.hpp"
#include "tools/program/stamp.hpp"

namespace blkscope::kstat2_command {
namespace {

// The exit statuses besides wrong_usage.
constexpr int matched = 0;
constexpr int nothing_matched = 1;
constexpr int failed = 3;

int run(const Options& options) {
    auto pace = program::Pace::of(options.interval_s, options.count);
    int status = nothing_matched;
    bool is_first = true;
    try {
        Reader reader(options);
        do {
            const auto readings = reader.read();
            if (!readings.empty()) status = matched;
            if (std::exchange(is_first, false)) {
                program::complain_of_no_providers("kstat2", readings.empty());
            }
            program::print(report(options, readings, std::time(nullptr)));
        } while (pace.wait());
    } catch (const program::OutputClosed&) {
    } catch (const BadPattern& bad) {
        throw Refusal{wrong_usage, std::string("kstat2: ") + bad.what() + "\n"};
    }
    return status;
}

}  // namespace
}  // namespace blkscope::kstat2_command

int main(int argc, char** argv) {
    using namespace blkscope;
    using namespace blkscope::kstat2_command;
    program::use_language_for_dates();
    program::watch_signals();
    return program::obey(
        {"kstat2", failed, [] { program::complain(help_text()); }},
        [&] {
            return parse_options({argv, argv + argc});
        },
        run);
}
