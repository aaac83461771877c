// kstat: connects the options, the reader, the reports and the clock.

#include "tools/program/main.hpp"

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "tools/kstat/options.hpp"
#include "tools/kstat/reader.hpp"
#include "tools/kstat/report.hpp"
#include "tools/program/no_providers.hpp"
#include "tools/program/pace.hpp"
#include "tools/program/signals.hpp"
#include "tools/program/stamp.hpp"

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
    bool was_partial = false;
    bool is_first = true;
    try {
        do {
            const std::vector<Reading> kstats = reader.read();
            if (reader.is_partial() && !was_partial) {
                was_partial = true;
                program::complain(program::shortage_text("kstat"));
            }
            if (std::exchange(is_first, false) && !options.quiet) {
                program::complain_of_no_providers("kstat", kstats.empty());
            }
            std::string text = reporter.report(kstats, std::time(nullptr));
            if (!pace.at_last()) text += '\n';
            program::print(text);
        } while (pace.wait());
    } catch (const program::OutputClosed&) {
    }
    if (was_partial) return failed;
    if (reporter.matched()) return matched;
    if (const std::string meant = options.quiet ? "" : reader.named_as_module(); !meant.empty()) {
        program::complain("kstat: no module has this name; the kstat is " + meant + "\n");
    }
    return nothing_matched;
}

}  // namespace
}  // namespace blkscope::kstat_command

int main(int argc, char** argv) {
    using namespace blkscope;
    using namespace blkscope::kstat_command;
    program::use_language_for_dates();
    program::watch_signals();
    return program::obey(
        {"kstat", failed, [] { program::complain(help_text()); }},
        [&] {
            return parse_options({argv, argv + argc});
        },
        run);
}
