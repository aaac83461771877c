#include "tools/top/options.hpp"

#include <CLI/CLI.hpp>

namespace blkscope::top {
namespace {

constexpr const char* notes =
    "Each interval it shows what the devices did, as 'iostat -xnu' does, and for one\n"
    "of them where the time went: heatmaps of the time that requests waited, and that\n"
    "they were served.\n"
    "\n"
    "Keys: q quit, space freeze, 1-9 or j k or the arrows choose a device, s sorts,\n"
    "c shows its clients, + - change the interval, h explains. If input or output is\n"
    "no terminal, it prints lines as 'iostat -xn' does. NO_COLOR in the environment\n"
    "is --no-color.\n"
    "\n"
    "Examples:\n"
    "  blkscope top\n"
    "  blkscope top 0.5 --device nbd0\n"
    "  blkscope top --batch 1 60 > minute.txt";

}  // namespace

void add_command(CLI::App& app, Options& options) {
    CLI::App* top = app.add_subcommand("top")->footer(notes);
    top->add_option("interval", options.interval_s, "Seconds between looks")
        ->capture_default_str()
        ->check(CLI::Range(interval_s_min, interval_s_max));
    top->add_option("count", options.count, "Looks, after which it ends; no end if not given")
        ->check(CLI::PositiveNumber);
    top->add_option("--device", options.devices,
                    "Only this device; repeat for more (all if not given)")
        ->option_text("NAME")
        ->allow_extra_args(false);  // the word behind the name is the interval
    top->add_flag_callback(
        "--no-color", [&options] { options.color = false; },
        "Mark what is past a threshold with + and !");
    top->add_flag("--must-exist", options.must_exist,
                  "Fail if a device that is named is not there");
    top->add_flag("-b,--batch", options.batch, "Print lines, also on a terminal");
}

}  // namespace blkscope::top
