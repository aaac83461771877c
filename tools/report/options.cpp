#include "tools/report/options.hpp"

#include <CLI/CLI.hpp>

namespace blkscope::report {
namespace {

constexpr const char* notes =
    "Runs the command, looks at every device meanwhile, and writes one HTML file that\n"
    "needs nothing else. The exit status is that of the command, and 125 if that was\n"
    "0 and a condition does not hold. SIGINT writes the report of what there was.\n"
    "\n"
    "Examples:\n"
    "  blkscope report -o run.html -- fio job.fio\n"
    "  blkscope report --for 10s\n"
    "  blkscope report --compare before.html after.html --fail-if-slower 10%\n"
    "  blkscope report --compare old-1.json old-2.json -- new-1.json new-2.json\n"
    "  blkscope report --fail-unless 'p99(nbd0.read.service) < 5ms' -- ./load";

}  // namespace

void add_command(CLI::App& app, Options& options) {
    CLI::App* report = app.add_subcommand("report")->footer(notes);
    CLI::Option* command =
        report->add_option("command", options.command, "What to run, with its arguments");
    report
        ->add_option("-o,--output", options.output,
                     "The file; a name that ends in .json gets the data alone")
        ->option_text("FILE")
        ->capture_default_str();
    report->add_option("--every", options.every, "The time between two looks, 10ms or longer")
        ->option_text("TIME")
        ->capture_default_str();
    report->add_option("--for", options.duration, "Without a command: look for this time")
        ->option_text("TIME")
        ->excludes(command);
    report
        ->add_option("--fail-unless", options.conditions,
                     "A condition of 'blkscope check' on the run; repeat for more")
        ->option_text("CONDITION")
        ->allow_extra_args(false);
    report
        ->add_option("--compare", options.compared,
                     "Only compare two reports, or several runs as BEFORE... -- AFTER..., and "
                     "print the figures that differ with a mark")
        ->option_text("BEFORE AFTER")
        ->expected(1, 64)
        ->excludes("--for");
    report
        ->add_option("--fail-if-slower", options.slower,
                     "With --compare: status 125 if AFTER is slower by more, as 10%")
        ->option_text("PERCENT")
        ->needs("--compare");
}

}  // namespace blkscope::report
