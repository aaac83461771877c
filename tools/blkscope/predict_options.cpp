// The command line of blkscope predict.
#include <CLI/CLI.hpp>

#include "tools/blkscope/command_line.hpp"
#include "tools/blkscope/config.hpp"
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
    predict
        .add_option("--arrivals", command.arrivals,
                    "Draw the requests: poisson:RATE, or even:RATE for even gaps; RATE a second")
        ->option_text("SPEC");
    predict
        .add_option("--closed", command.closed,
                    "N requests are always in flight, whatever their times")
        ->option_text("N")
        ->check(CLI::Range(1U, 65536U));
    predict
        .add_option(
            "--for", command.duration,
            "The first part of the trace, or so long a time of drawn requests (default: all "
            "of a trace, else 60s)")
        ->option_text("TIME");
    predict
        .add_option("--mix", command.mix,
                    "The operations of drawn requests and how often each is, as read=70,write=30")
        ->option_text("SPEC")
        ->capture_default_str();
    predict.add_option("--bytes", command.bytes, "The length of each drawn request")
        ->option_text("SIZE")
        ->capture_default_str();
    predict.add_flag("--sequential", command.sequential,
                     "Each drawn request begins where the last one ended, and not anywhere");
    predict
        .add_option("--speed", command.speeds,
                    "Times between arrivals are divided by X; several speeds make a table")
        ->option_text("X[,X...]")
        ->capture_default_str();
}

}  // namespace

void add_predict(CLI::App& app, PredictCommand& command) {
    CLI::App* predict = app.add_subcommand("predict");
    predict->footer(predict_notes);
    add_load(*predict, command);
    predict
        ->add_option("--model", command.model,
                     "How long requests take, as read=exp:1ms or hdd7200: see blkscope-models(7)")
        ->option_text("SPEC");
    predict
        ->add_option("--limit", command.limit,
                     "The most requests or bytes a second, as iops=100 or gp2:100G")
        ->option_text("SPEC");
    predict
        ->add_option("--queue-depth", command.queue_depth,
                     "Requests that the device works on at once (default: the header's, or 128)")
        ->option_text("N")
        ->check(CLI::Range(1U, queue_depth_max));
    predict->add_option("--size", command.size, "Of the device (default: the header's, or 1T)")
        ->option_text("SIZE");
    predict
        ->add_option_function<std::string>(
            "--seed",
            [&command](const std::string& text) { command.seed = parse_seed(text); },
            "Of the draws; the same seed gives the same bytes (default: the header's, or 1)")
        ->option_text("N");
    predict->add_flag("--json", command.json, "Print one JSON object");
}

}  // namespace blkscope
