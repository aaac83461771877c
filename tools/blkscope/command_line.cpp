#include "tools/blkscope/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/attach/attach.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "driver/nbd/uri.hpp"
#include "tools/blkscope/clients.hpp"
#include "tools/blkscope/control_commands.hpp"
#include "tools/blkscope/explain.hpp"
#include "tools/blkscope/failure.hpp"
#include "tools/blkscope/help.hpp"
#include "tools/blkscope/list.hpp"
#include "tools/blkscope/models.hpp"
#include "tools/blkscope/predict_command.hpp"
#include "tools/blkscope/programs.hpp"
#include "tools/blkscope/replay_command.hpp"
#include "tools/blkscope/serve.hpp"
#include "tools/blkscope/slow_command.hpp"
#include "tools/blkscope/trace_command.hpp"
#include "tools/check/check.hpp"
#include "tools/program/kstats.hpp"
#include "tools/program/nearest.hpp"
#include "tools/program/options.hpp"
#include "tools/program/print.hpp"
#include "tools/report/report.hpp"
#include "tools/stats/stats.hpp"
#include "tools/top/top.hpp"
#include "tools/web/web.hpp"

namespace blkscope {
namespace {

constexpr const char* about =
    "A userspace block device you can see inside: serves a file, disk or memory\n"
    "over NBD and accounts every request, so that 'iostat -xn 1' tells waiting from\n"
    "service.";

constexpr const char* program_notes =
    "Examples:\n"
    "  blkscope serve memory:1G          serve; then 'iostat -xn 1' shows it\n"
    "  blkscope list                     what is served on this machine, and where\n"
    "  blkscope help serve               the options of a command, with examples";

constexpr const char* serve_notes =
    "BACKING is the path of a file or block device, memory:SIZE or null:SIZE (SIZE as\n"
    "in 64M, 1G). When the server is ready, it prints a line per export and address:\n"
    "the device's name in iostat, and the URI. A single export is the default export\n"
    "too (the empty name). The server ends on SIGINT or SIGTERM, after it has\n"
    "answered what it accepted and flushed it; a second signal ends it at once. It\n"
    "takes over the sockets of systemd's LISTEN_FDS if there are any.\n"
    "\n"
    "Examples:\n"
    "  blkscope serve disk.img\n"
    "  blkscope serve memory:1G --queue-depth 8 --port 10809\n"
    "  blkscope serve root=disk.img scratch=memory:4G --unix /run/two.sock\n"
    "  blkscope serve --attach /dev/nbd0 disk.img\n"
    "  blkscope serve --model hdd7200 --limit iops=50 disk.img\n"
    "  blkscope serve --fault 'read:error=EIO;chance=1/100' disk.img\n"
    "  blkscope serve --crash-cache 64M disk.img\n"
    "  blkscope serve --tls require --tls-certs /etc/pki/nbd --port 10809 disk.img\n"
    "  blkscope serve --config /etc/blkscope/lab.json";

constexpr const char* attach_notes =
    "Example:\n"
    "  blkscope attach 'nbd+unix:///?socket=/run/disk.sock' /dev/nbd0";

constexpr const char* detach_notes =
    "Example:\n"
    "  blkscope detach /dev/nbd0";

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
    "A server always remembers its last requests. This command prints them, or those of\n"
    "the next seconds. blkscope-trace(1) explains the formats.\n"
    "\n"
    "Examples:\n"
    "  blkscope trace nbd0 --last 20\n"
    "  blkscope trace nbd0 --for 10s --format perfetto -o trace.json\n"
    "  blkscope trace nbd0 --for 10s --format ours -o trace.bin\n"
    "  blkscope trace --read trace.bin --format fio3 -o replay.log";

constexpr const char* replay_notes =
    "Sends the requests of a saved trace to an NBD server at their own times, and prints\n"
    "the times of the trace beside those of the replay. blkscope-replay(1) has more.\n"
    "\n"
    "Examples:\n"
    "  blkscope replay trace.bin nbd://localhost\n"
    "  blkscope replay trace.bin 'nbd+unix:///disk?socket=/run/disk.sock' --speed 2\n"
    "  blkscope replay trace.bin nbd://localhost --closed 16 --write";

constexpr const char* slow_notes =
    "Times are in milliseconds. A time behind '>' still goes on.\n"
    "\n"
    "Examples:\n"
    "  blkscope slow nbd0\n"
    "  blkscope slow nbd0 --over 100ms --watch";

constexpr const char* explain_notes =
    "Examples:\n"
    "  blkscope explain\n"
    "  blkscope explain nbd0 10";

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

struct AttachCommand {
    std::string uri;
    AttachOptions options;
    bool persist = false;
};

CLI::Option* add_timeout(CLI::App& command, unsigned& seconds) {
    return command
        .add_option("--timeout", seconds,
                    "Seconds after which the kernel gives a request to /dev/nbdX up; 0 for never, "
                    "even if the server has died")
        ->option_text("SECONDS")
        ->capture_default_str()
        ->check(CLI::Range(0U, 86400U));
}

void add_tls(CLI::App& serve, nbd::TlsOptions& options) {
    serve
        .add_option_function<std::string>(
            "--tls", [&](const std::string& word) { options.mode = nbd::tls_mode(word).value(); },
            "TLS for clients that ask for it (on), or for all (require); off if not given")
        ->check(CLI::IsMember({"off", "on", "require"}));
    serve
        .add_option("--tls-certs", options.certificates,
                    "Directory of server-cert.pem, server-key.pem and ca-cert.pem")
        ->option_text("DIRECTORY");
    serve.add_flag("--tls-verify-peer", options.verify_peer,
                   "Only clients with a certificate that ca-cert.pem has signed");
    serve
        .add_option("--tls-psk", options.psk_file,
                    "File of NAME:HEX lines: the keys shared with clients, as psktool makes them")
        ->option_text("FILE");
}

// The options for the connections of clients, and for the clients that are allowed.
void add_door(CLI::App& serve, ServeOptions& options) {
    CLI::Option* socket =
        serve
            .add_option("--unix", options.socket_path,
                        "Listen on this Unix socket; one in the run directory if not given")
            ->option_text("PATH");
    CLI::Option* port =
        serve.add_option("--port", options.port, "Listen on this TCP port; 0 takes a free one")
            ->option_text("PORT");
    serve.add_option("--bind", options.bind_address, "The address for --port")
        ->option_text("ADDRESS")
        ->capture_default_str()
        ->needs(port);
    serve
        .add_option("--allow", options.config.allow,
                    "An address or network (10.0.0.0/8, ::1) whose TCP clients may connect; "
                    "repeat for more (default: all)")
        ->option_text("NETWORK")
        ->allow_extra_args(false);  // the word behind the network may be a backing
    serve
        .add_flag("--stdio", options.stdio,
                  "Serve the one client whose socket is standard input and output")
        ->excludes(socket)
        ->excludes(port);
    serve
        .add_option("--workers", options.config.workers,
                    "Threads that serve, made as clients need them; one a processor if not given")
        ->check(CLI::Range(1U, workers_max));
    serve
        .add_option(
            "--recorder", options.config.recorder_records,
            "Requests that each of these threads remembers for 'blkscope trace'; 0 for none")
        ->option_text("N")
        ->capture_default_str()
        ->check(CLI::Range(0U, recorder_records_max));
    serve.add_flag_callback(
        "--no-busy-wait", [&options] { options.config.busy_wait = false; },
        "Sleep at once when there is nothing to do, or until a model's time is over");
    serve.add_option("--max-connections", options.config.connections_max, "Clients at once")
        ->capture_default_str()
        ->check(CLI::Range(1U, clients_max));
    serve
        .add_option("--max-handshakes", options.config.handshakes_max,
                    "Clients that negotiate at once")
        ->capture_default_str()
        ->check(CLI::Range(1U, clients_max));
    serve
        .add_option("--handshake-timeout", options.config.handshake_seconds,
                    "Seconds that a client has to negotiate")
        ->option_text("SECONDS")
        ->capture_default_str()
        ->check(CLI::Range(1U, handshake_seconds_max));
}

// CLI11 takes -1 for the largest number.
uint64_t parse_seed(const std::string& text) {
    if (const auto seed = program::decimal<uint64_t>(text)) return *seed;
    throw CLI::ValidationError("--seed", text + " is no whole number");
}

// The options for slow, limited and failing devices.
void add_behaviour(CLI::App& serve, ServeOptions& options) {
    const auto add = [&](const char* name, std::vector<std::string>& texts, const char* what,
                         const char* form) {
        serve.add_option(name, texts, what)->option_text(form)->allow_extra_args(false);
    };
    add("--model", options.models,
        "How long requests take, as read=exp:1ms or hdd7200: see blkscope-models(7)",
        "[NAME@]SPEC");
    add("--limit", options.limits, "The most requests or bytes a second, as iops=100 or gp2:100G",
        "[NAME@]SPEC");
    add("--client-limit", options.client_limits, "The same for each client of a device",
        "[NAME@]SPEC");
    add("--fault", options.faults, "A fault and the requests that have it; repeat for more",
        "[NAME@]RULE");
    add("--crash-cache", options.crash_caches,
        "A volatile write cache, which 'blkscope crash' and a kill lose: "
        "SIZE[,sector=512][,ignore-flush]",
        "[NAME@]SPEC");
    serve
        .add_option_function<std::string>(
            "--seed", [&](const std::string& text) { options.seed = parse_seed(text); },
            "Repeats the random draws of models, faults and crashes (default: drawn and printed)")
        ->option_text("N");
}

void add_client_statistics(CLI::App& serve, ServeOptions& options) {
    serve
        .add_option_function<std::string>(
            "--client-by",
            [&](const std::string& word) {
                options.config.client_by = nbd::client_by(word).value();
            },
            "Connections that are one client in the statistics: of one process or TLS name and "
            "address (peer), of one address or user, or each one; peer if not given")
        ->check(CLI::IsMember({"connection", "peer", "address", "none"}));
    serve
        .add_option("--client-stats", options.exp.client_stats,
                    "Clients of a device with statistics of their own; others share theirs")
        ->capture_default_str()
        ->check(CLI::Range(0U, client_stats_max));
}

void add_serve(CLI::App& app, ServeOptions& options) {
    CLI::App* serve = app.add_subcommand("serve", "Serve files, disks or memory over NBD");
    serve->footer(serve_notes);
    serve->add_option("backing", options.backings, "What to serve: [NAME=]BACKING ...");
    serve
        ->add_option("--config", options.config_path,
                     "Everything from this file, and again at SIGHUP: see blkscope(5)")
        ->option_text("FILE");
    add_door(*serve, options);
    serve
        ->add_option("--queue-depth", options.exp.queue_depth,
                     "Requests that a device works on at once; more wait")
        ->capture_default_str()
        ->check(CLI::Range(1U, queue_depth_max));
    serve
        ->add_option_function<std::string>(
            "--order",
            [&](const std::string& word) { options.exp.order = start_order(word).value(); },
            "Which request starts next: the first that came, or one of each client in turn; "
            "arrival if not given")
        ->check(CLI::IsMember({"arrival", "fair"}));
    serve->add_flag("--direct", options.exp.direct, "Past the page cache (O_DIRECT)");
    serve->add_flag("--read-only", options.exp.read_only, "Refuse writes");
    serve->add_flag("--force-shared", options.exp.force_shared,
                    "Serve what is mounted, or what another program writes to");
    serve
        ->add_option("--description", options.exp.description,
                     "What clients are told of each export (default: its device and backing)")
        ->option_text("TEXT");
    serve->add_flag_callback(
        "--no-list", [&options] { options.config.list = false; },
        "Tell the exports' names to nobody: a client must know one");
    serve
        ->add_option_function<std::string>(
            "--replies",
            [&](const std::string& word) {
                options.config.replies = nbd::reply_form(word).value();
            },
            "The richest form of replies that clients may ask for; extended if not given")
        ->check(CLI::IsMember({"simple", "structured", "extended"}));
    serve->add_flag_callback(
        "--no-histograms", [&options] { options.config.histograms = false; },
        "Count no times and sizes by bucket; 'kstat2adm enable blk:hist' begins");
    serve
        ->add_option("--stats-rate", options.exp.stats_rate,
                     "One read or write in so many is in 'blkscope stats'; 0 for none")
        ->capture_default_str()
        ->check(CLI::Range(0U, stats_rate_max));
    add_client_statistics(*serve, options);
    add_behaviour(*serve, options);
    add_tls(*serve, options.config.tls);
    CLI::Option* attach = serve
                              ->add_option("--attach", options.attach.device,
                                           "Also attach the first export to this /dev/nbdX")
                              ->option_text("DEVICE");
    attach->excludes("--stdio");
    serve->add_option("--connections", options.attach.connections, "Connections for --attach")
        ->capture_default_str()
        ->check(CLI::Range(1U, 16U))
        ->needs(attach);
    add_timeout(*serve, options.attach.timeout_seconds)->needs(attach);
}

void add_attach(CLI::App& app, AttachCommand& command) {
    CLI::App* attach = app.add_subcommand("attach", "Make an export this machine's /dev/nbdX");
    attach->footer(attach_notes);
    attach
        ->add_option("uri", command.uri,
                     "The export: nbd+unix:///NAME?socket=PATH or "
                     "nbd://HOST[:PORT]/NAME")
        ->required();
    attach->add_option("device", command.options.device, "/dev/nbdX")->required();
    attach
        ->add_option("--connections", command.options.connections,
                     "Sockets to spread requests over")
        ->capture_default_str()
        ->check(CLI::Range(1U, 16U));
    attach->add_option("--block-size", command.options.block_bytes, "Logical block size in bytes")
        ->option_text("BYTES")
        ->check(CLI::IsMember({512, 1024, 2048, 4096}));
    attach->add_flag("--read-only", command.options.read_only, "Let nobody write");
    attach->add_flag("--persist", command.persist,
                     "Stay, and connect again when the server has gone and come back");
    add_timeout(*attach, command.options.timeout_seconds);
}

void attach(const AttachCommand& command) {
    const nbd::Uri uri = nbd::parse_uri(command.uri);
    if (command.persist && uri.tls) {
        throw std::invalid_argument(
            "attach --persist: it connects again without TLS only; leave one of them out");
    }
    attach(uri, command.options);
    if (!command.persist) return;
    fmt::print("{} attached\n", command.options.device);
    std::fflush(stdout);
    keep_attached(uri, command.options);
}

struct ControlCommands {
    SetCommand set;
    FaultCommand fault;
    std::string clear_error;
    CrashCommand crash;
};

struct DetachCommand {
    std::string device;
    DetachOptions options;
};

void add_detach(CLI::App& app, DetachCommand& command) {
    CLI::App* detach = app.add_subcommand("detach", "Free a /dev/nbdX");
    detach->footer(detach_notes);
    detach->add_option("device", command.device, "/dev/nbdX")->required();
    detach->add_flag("--force", command.options.force,
                     "Even if it is mounted or open: its users lose their disk");
}

void add_models(CLI::App& app) {
    app.add_subcommand("models", "Show the disks that --model and --limit have ready")
        ->footer(models_notes);
}

void add_list(CLI::App& app, bool& verbose) {
    CLI::App* list =
        app.add_subcommand("list", "Show the exports and attached devices of this machine");
    list->footer(list_notes);
    list->add_flag("-v,--verbose", verbose,
                   "Also the depth, model, limits, faults and crash cache of each");
}

void add_clients(CLI::App& app, ClientsCommand& command) {
    CLI::App* clients =
        app.add_subcommand("clients", "Show who causes the work of the devices, sorted by load");
    clients->footer(clients_notes);
    clients->add_option("device", command.device, "The device, as nbd0 (all if not given)");
    clients
        ->add_option("--interval", command.interval_s,
                     "Seconds to watch; 0 for the time since each client connected")
        ->option_text("SECONDS")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
}

void add_trace(CLI::App& app, TraceCommand& command) {
    CLI::App* trace = app.add_subcommand("trace", "Show or save the recorded requests of a device");
    trace->footer(trace_notes);
    trace->add_option("device", command.device, "The device, as nbd0");
    CLI::Option* from_now =
        trace
            ->add_option("--for", command.from_now,
                         "The requests from now on, for this time, as 10s; without it those that "
                         "are recorded already")
            ->option_text("TIME");
    trace->add_option("--last", command.last, "Only the last N requests")
        ->option_text("N")
        ->excludes(from_now);
    trace->add_option("-o,--output", command.output, "To this file; blktrace: FILE.blktrace.0, ...")
        ->option_text("FILE");
    trace->add_option("--format", command.format, "The format")
        ->capture_default_str()
        ->check(CLI::IsMember({"csv", "json", "perfetto", "blktrace", "fio", "fio3", "ours"}));
    trace->add_option("--read", command.read, "Convert this file: ours, csv, fio, fio3 or blktrace")
        ->option_text("FILE");
}

void add_replay(CLI::App& app, ReplayCommand& command) {
    CLI::App* replay = app.add_subcommand("replay", "Send a saved trace to an NBD server");
    replay->footer(replay_notes);
    replay->add_option("trace", command.trace, "The file of the trace")->required();
    replay->add_option("uri", command.uri, "The URI of the export")->required();
    CLI::Option* speed =
        replay->add_option("--speed", command.speed, "So many times as fast as the trace")
            ->option_text("X")
            ->capture_default_str()
            ->check(CLI::Range(0.001, 1000.0));
    replay
        ->add_option("--closed", command.in_flight,
                     "So many requests under way at all times, instead of the times of the trace")
        ->option_text("N")
        ->check(CLI::Range(1U, 65536U))
        ->excludes(speed);
    replay->add_flag("--write", command.write,
                     "Also writes, trims and zeroes, which change the data of the export");
    replay
        ->add_option_function<std::string>(
            "--seed", [&](const std::string& text) { command.seed = parse_seed(text); },
            "Makes the data of the writes")
        ->option_text("NUMBER")
        ->default_str("0");
    replay
        ->add_option("--timeout", command.timeout_s,
                     "Seconds after which an answer is no longer waited for")
        ->option_text("SECONDS")
        ->capture_default_str()
        ->check(CLI::Range(1U, 86400U));
}

void add_slow(CLI::App& app, SlowCommand& command) {
    CLI::App* slow = app.add_subcommand(
        "slow", "Show the slowest requests of the last minute, and those that hang now");
    slow->footer(slow_notes);
    slow->add_option("device", command.device, "The device, as nbd0")->required();
    slow->add_option("--over", command.over, "Only requests that took so long, or longer")
        ->option_text("TIME")
        ->capture_default_str();
    slow->add_flag("--watch", command.watch, "Go on, with a look each second");
}

void add_explain(CLI::App& app, ExplainCommand& command) {
    CLI::App* explain = app.add_subcommand("explain", "Say where the time of requests goes");
    explain->footer(explain_notes);
    explain->add_option("device", command.device,
                        "The device, as nbd0 (the only one if not given)");
    explain->add_option("interval", command.interval_s, "Seconds to watch")
        ->capture_default_str()
        ->check(CLI::Range(0.01, 3600.0));
}

void add_control(CLI::App& app, ControlCommands& commands) {
    CLI::App* set = app.add_subcommand("set", "Change the model, limit or depth of a device");
    set->footer(set_notes);
    set->add_option("device", commands.set.device, "The device, as nbd0")->required();
    set->add_option("setting", commands.set.settings,
                    "model=SPEC, limit=SPEC, client-limit=SPEC or queue-depth=N; none in place "
                    "of a SPEC removes")
        ->required();
    CLI::App* fault = app.add_subcommand("fault", "Add, list and clear the faults of a device");
    fault->footer(fault_notes);
    fault->add_option("device", commands.fault.device, "The device, as nbd0")->required();
    fault->add_option("action", commands.fault.action, "What to do")
        ->required()
        ->check(CLI::IsMember({"add", "list", "clear"}));
    fault->add_option("argument", commands.fault.argument,
                      "The rule to add, or the number of the one fault to clear");
    CLI::App* clear = app.add_subcommand("clear-error", "Forget a sync that failed");
    clear->footer(clear_error_notes);
    clear->add_option("device", commands.clear_error, "The device, as nbd0")->required();
    CLI::App* crash = app.add_subcommand("crash", "Let a device with a crash cache lose its power");
    crash->footer(crash_notes);
    crash->add_option("device", commands.crash.device, "The device, as nbd0");
    crash->add_flag("--all", commands.crash.all,
                    "Every export of each server that has a crash cache");
}

// The programs, for the help. Such a command line is never parsed here.
void add_programs(CLI::App& app) {
    for (const ProgramCommand& command : program_commands) {
        app.add_subcommand(std::string(command.name), std::string(command.purpose));
    }
}

// CLI11 cannot require "one of both", nor exclude all other options without a list in each line of
// help.
void require_something_to_serve(const CLI::App& app, const ServeOptions& options) {
    if (!app.got_subcommand("serve")) return;
    const CLI::App& serve = *app.get_subcommand("serve");
    const CLI::Option* config = serve.get_option("--config");
    if (options.config_path.empty() && config->count() == 0) {
        if (options.backings.empty()) throw CLI::RequiredError("backing");
        return;
    }
    for (const CLI::Option* option : serve.get_options()) {
        if (option != config && option->count() > 0) {
            throw CLI::ExcludesError("--config", option->get_name());
        }
    }
}

using Words = std::vector<std::string>;

// "blkscope help serve" is "blkscope serve --help", and "blkscope help" is "blkscope --help".
Words with_help_as_option(Words words) {
    if (words.size() < 2 || words[1] != "help") return words;
    words.erase(words.begin() + 1);
    words.resize(std::min<size_t>(words.size(), 2));
    words.emplace_back("--help");
    return words;
}

// Takes the command of `blkscope report` from behind the first --. CLI11 would take "[a,b]" apart.
Words take_reported_command(Words& words) {
    if (words.size() < 2 || words[1] != "report") return {};
    const auto dashes = std::ranges::find(words, "--");
    if (dashes == words.end()) return {};
    Words command(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return command;
}

// Empty unless the command line has words of which the first is no command.
std::string unknown_command(const CLI::App& app, const Words& words) {
    if (words.size() < 2 || words[1].starts_with('-')) return {};
    Words commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    if (std::ranges::find(commands, words[1]) != commands.end()) return {};
    return no_such_command(words[1], commands);
}

// Empty unless the command line has an option that its command does not have.
std::string unknown_option(const CLI::App& command) {
    Words known;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const std::string& word : command.remaining()) {
        if (word.starts_with("--") && word != "--") return program::no_such_option(word, known);
    }
    return {};
}

// Prints one line instead of CLI11's message. The exit status is 0 or 2, not CLI11's.
int explain(const CLI::App& app, const CLI::ParseError& error, const Words& words) {
    std::string why = unknown_command(app, words);
    if (why.empty() && error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const auto commands = app.get_subcommands();
    if (why.empty()) why = unknown_option(commands.empty() ? app : *commands.front());
    if (why.empty()) why = error.what();
    const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
    fmt::print(stderr, "blkscope: usage: {}; see 'blkscope{} --help'\n", why, command);
    return bad_usage;
}

// The options of each subcommand, of which one has been given.
struct Commands {
    ServeOptions serve;
    AttachCommand attach;
    DetachCommand detach;
    bool list_verbosely = false;
    ClientsCommand clients;
    TraceCommand trace;
    ReplayCommand replay;
    SlowCommand slow;
    ExplainCommand explain;
    PredictCommand predict;
    ControlCommands control;
    check::Options check_options;
    report::Options report_options;
    stats_command::Options stats_options;
    top::Options top_options;
    web::Options web_options;
};

void add_subcommands(CLI::App& app, Commands& commands) {
    add_serve(app, commands.serve);
    add_attach(app, commands.attach);
    add_detach(app, commands.detach);
    add_list(app, commands.list_verbosely);
    add_clients(app, commands.clients);
    add_explain(app, commands.explain);
    add_slow(app, commands.slow);
    add_trace(app, commands.trace);
    add_predict(app, commands.predict);
    add_replay(app, commands.replay);
    add_models(app);
    add_control(app, commands.control);
    check::add_command(app, commands.check_options);
    report::add_command(app, commands.report_options);
    stats_command::add_command(app, commands.stats_options);
    top::add_command(app, commands.top_options);
    web::add_command(app, commands.web_options);
    add_programs(app);
}

int run_subcommand(const CLI::App& app, const Commands& commands) {
    if (app.got_subcommand("serve")) serve(commands.serve);
    if (app.got_subcommand("attach")) attach(commands.attach);
    if (app.got_subcommand("detach")) detach(commands.detach.device, commands.detach.options);
    if (app.got_subcommand("list")) list(commands.list_verbosely);
    if (app.got_subcommand("clients")) clients(commands.clients);
    if (app.got_subcommand("explain")) explain(commands.explain);
    if (app.got_subcommand("slow")) slow(commands.slow);
    if (app.got_subcommand("trace")) trace_requests(commands.trace);
    if (app.got_subcommand("predict")) predict(commands.predict);
    if (app.got_subcommand("replay")) replay(commands.replay);
    if (app.got_subcommand("models")) program::print(models_text());
    if (app.got_subcommand("set")) set(commands.control.set);
    if (app.got_subcommand("fault")) fault(commands.control.fault);
    if (app.got_subcommand("clear-error")) clear_error(commands.control.clear_error);
    if (app.got_subcommand("crash")) crash(commands.control.crash);
    if (app.got_subcommand("check")) return check::run(commands.check_options);
    if (app.got_subcommand("report")) return report::run(commands.report_options);
    if (app.got_subcommand("stats")) stats_command::run(commands.stats_options);
    if (app.got_subcommand("top")) top::run(commands.top_options);
    if (app.got_subcommand("web")) web::run(commands.web_options);
    return 0;
}

}  // namespace

int run(int argc, char** argv) {
    Words words = with_help_as_option({argv, argv + argc});
    if (words.size() > 1 && is_program(words[1])) become_program({words.begin() + 1, words.end()});
    program::warn_of_silent_providers("blkscope");
    CLI::App app(about, "blkscope");
    app.require_subcommand(1);
    app.set_version_flag("--version", "blkscope " BLKSCOPE_VERSION);
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(program_notes);
    Commands commands;
    add_subcommands(app, commands);
    const Words reported = take_reported_command(words);
    try {
        app.parse(Words(words.rbegin(), words.rend() - 1));  // CLI11 takes the last word first
        require_something_to_serve(app, commands.serve);
        if (!reported.empty()) commands.report_options.command = reported;
    } catch (const CLI::ParseError& error) {
        return explain(app, error, words);
    }
    try {
        return run_subcommand(app, commands);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "blkscope: {}\n", error.what());
        return bad_usage;
    }
}

}  // namespace blkscope
