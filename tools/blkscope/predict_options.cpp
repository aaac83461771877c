// The command line of blkscope predict.
#include <CLI/CLI.hpp>

#include "tools/blkscope/command_line.hpp"
#include "tools/blkscope/config.hpp"
#include "tools/blkscope/option_forms.hpp"
#include "tools/blkscope/predict_command.hpp"

namespace blkscope {
namespace {

constexpr const char* predict_notes =
    "The code is that of a server, in virtual time. What is not given comes from the\n"
    "header of the trace, or is as in 'blkscope serve'. blkscope-predict(1) explains\n"
    "the figures.\n"
    "\n"
    "Examples:\n"
    "  blkscope predict --arrivals poisson:8000 --model read=exp:100us,servers=1\n"
    "  blkscope predict trace.bin --queue-depth 4\n"
    "  blkscope predict trace.bin --model hdd7200 --speed 0.5,1,2,4\n"
    "  blkscope predict trace.bin --limit gp3 --closed 32 --json";

void add_load(CLI::App& predict, PredictCommand& command) {
    predict.add_option("trace", command.trace, "A file that 'blkscope trace --read' reads");
    add_value(predict, "--device", command.of_device, "DEVICE",
              "Of a trace with several devices, this one: as 8:16, nbd0 or fio's file name");
    add_value(predict, "--arrivals", command.arrivals, "SPEC",
              "Draw the requests: poisson:RATE, or even:RATE for even gaps; RATE a second");
    add_value(predict, "--closed", command.closed, "N",
              "N requests are always in flight, whatever their times")
        ->check(CLI::Range(1U, 65536U));
    add_value(predict, "--for", command.duration, "TIME",
              "The first part of the trace, or so long a time of drawn requests (default: all "
              "of a trace, else 60s)");
    add_value(predict, "--mix", command.mix, "SPEC",
              "The operations of drawn requests and how often each is, as read=70,write=30")
        ->capture_default_str();
    add_value(predict, "--bytes", command.bytes, "SIZE", "The length of each drawn request")
        ->capture_default_str();
    predict.add_flag("--sequential", command.sequential,
                     "Each drawn request begins where the last one ended, and not anywhere");
    add_value(predict, "--speed", command.speeds, "X[,X...]",
              "Times between arrivals are divided by X; several speeds make a table")
        ->capture_default_str();
}

}  // namespace

void add_predict(CLI::App& app, PredictCommand& command) {
    CLI::App* predict = app.add_subcommand("predict")->footer(predict_notes);
    add_load(*predict, command);
    add_value(*predict, "--model", command.model, "SPEC",
              "How long requests take, as read=exp:1ms or hdd7200: see blkscope-models(7)");
    add_value(*predict, "--limit", command.limit, "SPEC",
              "The most requests or bytes a second, as iops=100 or gp2:100G");
    add_value(*predict, "--queue-depth", command.queue_depth, "N",
              "Requests that the device works on at once (default: the header's, or 128)")
        ->check(CLI::Range(1U, queue_depth_max));
    add_value(*predict, "--size", command.size, "SIZE",
              "Of the device (default: the header's; 1T for drawn requests)");
    add_seed(*predict, command.seed, "N",
             "Of the draws; the same seed gives the same bytes (default: the header's, or 1)");
    predict->add_flag("--json", command.json, "Print one JSON object");
}

}  // namespace blkscope
