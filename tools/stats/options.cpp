#include "tools/stats/options.hpp"

#include <CLI/CLI.hpp>

namespace blkscope::stats_command {
namespace {

constexpr const char* notes =
    "Of each variable there is a line by the t-digest, of the requests that were\n"
    "taken into it, and a line by the histogram of all requests, whose percentiles\n"
    "are the upper ends of its buckets.\n"
    "\n"
    "Examples:\n"
    "  blkscope stats\n"
    "  blkscope stats --json nbd0 | jq '.devices[0].variables.read_service'";

}  // namespace

void add_command(CLI::App& app, Options& options) {
    CLI::App* stats = app.add_subcommand("stats")->footer(notes);
    stats->add_option("device", options.devices, "Only these devices (default: all)");
    stats->add_flag("--json", options.json, "Print one JSON object");
}

}  // namespace blkscope::stats_command
