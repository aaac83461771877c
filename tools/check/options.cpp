#include "tools/check/options.hpp"

#include <CLI/CLI.hpp>

namespace blkscope::check {
namespace {

constexpr const char* notes =
    "A condition is FIGURE(DEVICE[.OPERATION][.PHASE]) COMPARISON BOUND. The figure\n"
    "is one of mean p50 p90 p95 p99 p99.9 p99.99 max late, whose bound is a time, or\n"
    "of count rate bps errors wait actv busy. blkscope-check(1) explains each.\n"
    "\n"
    "The exit status is 0 if all conditions hold, 1 if one does not, 2 if one is\n"
    "malformed, and 4 if there was nothing to measure. An idle device holds no\n"
    "condition on times.\n"
    "\n"
    "Examples:\n"
    "  blkscope check --for 10s 'p99(nbd0.read.service) < 5ms' 'errors(nbd*) == 0'\n"
    "  blkscope check --save before.json; run-the-load\n"
    "  blkscope check --since before.json 'mean(nbd0) < 1ms' 'rate(nbd0.write) > 100'";

}  // namespace

void add_command(CLI::App& app, Options& options) {
    CLI::App* check = app.add_subcommand("check")->footer(notes);
    check->add_option("condition", options.conditions, "What has to be true");
    CLI::Option* since =
        check->add_option("--since", options.since, "Measure from this report of --save until now")
            ->option_text("REPORT");
    check->add_option("--for", options.duration, "Measure for this time from now, as 500ms or 10s")
        ->option_text("TIME")
        ->excludes(since);
    check->add_flag("-j,--json", options.json,
                    "One line of JSON: status, conditions, late servers");
    check->add_option("--save", options.save, "Only write a report of now, for --since")
        ->option_text("REPORT")
        ->excludes(since)
        ->excludes("--for");
}

}  // namespace blkscope::check
