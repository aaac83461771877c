#include "tools/blkscope/tools_commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include "tools/blkscope/models.hpp"
#include "tools/blkscope/option_forms.hpp"
#include "tools/blkscope/programs.hpp"
#include "tools/program/print.hpp"

namespace blkscope {
namespace {

constexpr const char* list_notes =
    "Example:\n"
    "  blkscope list";

constexpr const char* clients_notes =
    "A client is as 'serve --client-by' says. The times are means of the interval in\n"
    "milliseconds: in the wait queue, and in service. The share is a client's part of\n"
    "the service of all clients.\n"
    "\n"
    "Examples:\n"
    "  blkscope clients\n"
    "  blkscope clients nbd0 --interval 10";

constexpr const char* trace_notes =
    "A server always remembers its last requests. This command prints them, or those\n"
    "of the next seconds. blkscope-trace(1) explains the formats.\n"
    "\n"
    "Examples:\n"
    "  blkscope trace nbd0 --last 20\n"
    "  blkscope trace nbd0 --for 10s --format perfetto -o trace.json\n"
    "  blkscope trace nbd0 --for 10s --format ours -o trace.bin\n"
    "  blkscope trace --read trace.bin --format fio3 -o replay.log";

constexpr const char* replay_notes =
    "Sends the requests of a saved trace to an NBD server at their own times, and\n"
    "prints the times of the trace beside those of the replay. blkscope-replay(1) has\n"
    "more.\n"
    "\n"
    "Examples:\n"
    "  blkscope replay trace.bin nbd://localhost\n"
    "  blkscope replay trace.bin 'nbd+unix:///disk?socket=/run/disk.sock' --speed 2\n"
    "  blkscope replay trace.bin nbd://localhost --closed 16 --write";

constexpr const char* slow_notes =
    "A time behind '>' still goes on: the request is in this stage. The times are\n"
    "those of 'iostat -w': receive, wait, service, reply and total.\n"
    "\n"
    "Examples:\n"
    "  blkscope slow nbd0\n"
    "  blkscope slow nbd0 --over 100ms --watch";

constexpr const char* explain_notes =
    "Examples:\n"
    "  blkscope explain\n"
    "  blkscope explain nbd0 10\n"
    "  blkscope explain nbd0 --last 60s\n"
    "  blkscope explain yesterday.trace\n"
    "  blkscope explain nbd1 10 --upstream nbd0\n"
    "  blkscope explain front.trace --upstream storage.trace";

constexpr const char* models_notes =
    "Example:\n"
    "  blkscope models";

constexpr const char* set_notes =
    "Requests under way keep what they began with, and no client notices.\n"
    "blkscope-models(7) has the grammar.\n"
    "\n"
    "Examples:\n"
    "  blkscope set nbd0 model=hdd7200 limit=iops=50\n"
    "  blkscope set nbd0 model=none queue-depth=8";

constexpr const char* fault_notes =
    "Examples:\n"
    "  blkscope fault nbd0 add 'read:hang=10s;count=1'\n"
    "  blkscope fault nbd0 list\n"
    "  blkscope fault nbd0 clear 1";

constexpr const char* clear_error_notes =
    "After a sync that failed, each flush of the device fails. This command ends\n"
    "that, if a later sync has succeeded. Data that was lost stays lost.\n"
    "\n"
    "Example:\n"
    "  blkscope clear-error nbd0";

constexpr const char* crash_notes =
    "All connections to the device are closed. Then each block of its crash cache is\n"
    "lost, kept or torn, by the seed. What was flushed stays.\n"
    "\n"
    "Example:\n"
    "  blkscope crash nbd0";

void add_models(CLI::App& app) {
    app.add_subcommand("models")->footer(models_notes);
}

void add_list(CLI::App& app, ListCommand& command) {
    CLI::App* list = app.add_subcommand("list")->footer(list_notes);
    list->add_option("device", command.devices, "Only these, as nbd0 (all if not given)");
    list->add_flag("-v,--verbose", command.verbose,
                   "Also the depth, upstream, model, limits, faults and crash cache of each");
}

void add_clients(CLI::App& app, ClientsCommand& command) {
    CLI::App* clients = app.add_subcommand("clients")->footer(clients_notes);
    clients->add_option("device", command.device, "The device, as nbd0 (all if not given)");
    add_value(*clients, "--interval", command.interval_s, "SECONDS",
              "Seconds to watch; 0 for the time since each client connected")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0))
        ->check(is_number());
}

void add_trace(CLI::App& app, TraceCommand& command) {
    CLI::App* trace = app.add_subcommand("trace")->footer(trace_notes);
    trace->add_option("device", command.device, "The device, as nbd0 (the only one if not given)");
    CLI::Option* from_now =
        add_value(*trace, "--for", command.from_now, "TIME",
                  "The requests from now on, for this time, as 10s; without it those that "
                  "are recorded already");
    add_value(*trace, "--last", command.last, "N", "Only the last N requests")->excludes(from_now);
    add_value(*trace, "-o,--output", command.output, "FILE",
              "To this file; blktrace: FILE.blktrace.0, ...");
    trace->add_option("--format", command.format, "The format")
        ->capture_default_str()
        ->check(CLI::IsMember({"csv", "json", "perfetto", "blktrace", "fio", "fio3", "ours"}));
    add_value(*trace, "--read", command.read, "FILE",
              "Convert this file: ours, csv, fio, fio3 or blktrace");
    add_value(*trace, "--device", command.of_device, "DEVICE",
              "Of a file with several devices, this one: as 8:16, nbd0 or fio's file name");
}

void add_replay(CLI::App& app, ReplayCommand& command) {
    CLI::App* replay = app.add_subcommand("replay")->footer(replay_notes);
    replay->add_option("trace", command.trace, "The file of the trace")->required();
    replay->add_option("uri", command.uri, "The URI of the export")->required();
    CLI::Option* speed =
        add_value(*replay, "--speed", command.speed, "X", "So many times as fast as the trace")
            ->capture_default_str()
            ->check(CLI::Range(0.001, 1000.0))
            ->check(is_number());
    add_value(*replay, "--closed", command.in_flight, "N",
              "So many requests under way at all times, instead of the times of the trace")
        ->check(CLI::Range(1U, 65536U))
        ->excludes(speed);
    add_value(*replay, "--device", command.of_device, "DEVICE",
              "Of a trace with several devices, this one: as 8:16, nbd0 or fio's file name");
    replay->add_flag("--write", command.write,
                     "Also writes, trims and zeroes, which change the data of the export");
    add_seed(*replay, command.seed, "NUMBER", "Makes the data of the writes")->default_str("0");
    add_number(*replay, "--timeout", command.timeout_s, CLI::Range(1U, 86400U),
               "Seconds after which an answer is no longer waited for")
        ->option_text("SECONDS");
}

void add_slow(CLI::App& app, SlowCommand& command) {
    CLI::App* slow = app.add_subcommand("slow")->footer(slow_notes);
    slow->add_option("device", command.device, "The device, as nbd0 (the only one if not given)");
    add_value(*slow, "--over", command.over, "TIME", "Only requests that took so long, or longer")
        ->capture_default_str();
    slow->add_flag("--watch", command.watch, "Go on, with a look each second");
    slow->add_flag("--wide", command.wide,
                   "Times in milliseconds with three decimals, and the stage");
}

void add_explain(CLI::App& app, ExplainCommand& command) {
    CLI::App* explain = app.add_subcommand("explain")->footer(explain_notes);
    explain->add_option("device", command.device,
                        "The device, as nbd0 (the only one if not given), or the file of a trace");
    CLI::Option* upstream =
        add_value(*explain, "--upstream", command.upstream, "DEVICE",
                  "The device behind it: its part of each request's time. Or two trace files");
    add_value(*explain, "--last", command.last, "TIME",
              "The recorded requests of so long, as 60s, instead of those from now on")
        ->excludes(upstream);
    explain->add_option("interval", command.interval_s, "Seconds to watch")
        ->capture_default_str()
        ->check(CLI::Range(0.01, 3600.0))
        ->check(is_number());
}

void add_control(CLI::App& app, ControlCommands& commands) {
    CLI::App* set = app.add_subcommand("set")->footer(set_notes);
    set->add_option("device", commands.set.device, "The device, as nbd0")->required();
    set->add_option("setting", commands.set.settings,
                    "model=SPEC, limit=SPEC, client-limit=SPEC, queue-depth=N or "
                    "order=arrival|fair; none in place of a SPEC removes")
        ->required();
    CLI::App* fault = app.add_subcommand("fault")->footer(fault_notes);
    fault->add_option("device", commands.fault.device, "The device, as nbd0")->required();
    fault->add_option("action", commands.fault.action, "What to do")
        ->required()
        ->check(CLI::IsMember({"add", "list", "clear"}));
    fault->add_option("argument", commands.fault.argument,
                      "The rule to add, or the number of the one fault to clear");
    CLI::App* clear = app.add_subcommand("clear-error")->footer(clear_error_notes);
    clear->add_option("device", commands.clear_error, "The device, as nbd0")->required();
    CLI::App* crash = app.add_subcommand("crash")->footer(crash_notes);
    crash->add_option("device", commands.crash.device, "The device, as nbd0");
    crash->add_flag("--all", commands.crash.all,
                    "Every export of each server that has a crash cache");
}

// Gives each command the purpose that blkscope --help shows.
void describe(const CLI::App& app) {
    for (const OtherCommand& command : other_commands) {
        if (command.program != tools_program) continue;
        app.get_subcommand(std::string(command.name))->description(std::string(command.purpose));
    }
}

}  // namespace

ToolsCommands::ToolsCommands(Words reported) : reported_(std::move(reported)) {}

void ToolsCommands::add_to(CLI::App& app) {
    add_list(app, list_);
    add_clients(app, clients_);
    add_explain(app, explain_);
    add_slow(app, slow_);
    add_trace(app, trace_);
    add_predict(app, predict_);
    add_replay(app, replay_);
    add_models(app);
    add_control(app, control_);
    check::add_command(app, check_);
    report::add_command(app, report_);
    stats_command::add_command(app, stats_);
    top::add_command(app, top_);
    web::add_command(app, web_);
    describe(app);
}

int ToolsCommands::run(const CLI::App& app) {
    if (!reported_.empty()) report_.command = reported_;
    if (app.got_subcommand("list")) list(list_);
    if (app.got_subcommand("clients")) clients(clients_);
    if (app.got_subcommand("explain")) explain(explain_);
    if (app.got_subcommand("slow")) slow(slow_);
    if (app.got_subcommand("trace")) trace_requests(trace_);
    if (app.got_subcommand("predict")) predict(predict_);
    if (app.got_subcommand("replay")) replay(replay_);
    if (app.got_subcommand("models")) program::print(models_text());
    if (app.got_subcommand("set")) set(control_.set);
    if (app.got_subcommand("fault")) fault(control_.fault);
    if (app.got_subcommand("clear-error")) clear_error(control_.clear_error);
    if (app.got_subcommand("crash")) crash(control_.crash);
    if (app.got_subcommand("check")) return check::run(check_);
    if (app.got_subcommand("report")) return report::run(report_);
    if (app.got_subcommand("stats")) stats_command::run(stats_);
    if (app.got_subcommand("top")) top::run(top_);
    if (app.got_subcommand("web")) web::run(web_);
    return 0;
}

Words take_reported_command(Words& words) {
    if (words.size() < 2 || words[1] != "report") return {};
    const auto dashes = std::ranges::find(words, "--");
    if (dashes == words.end()) return {};
    Words command(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return command;
}

}  // namespace blkscope
