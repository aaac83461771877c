#include "tools/blkscope/serving_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "driver/nbd/uri.hpp"
#include "tools/blkscope/option_forms.hpp"
#include "tools/blkscope/programs.hpp"

namespace blkscope {
namespace {

constexpr const char* serve_notes =
    "BACKING is the path of a file or block device, memory:SIZE or null:SIZE (SIZE as\n"
    "in 64M, 1G), the URI of another server's export, as nbd://HOST/NAME, or an image\n"
    "of a Ceph cluster (package blkscope-rbd): rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT],\n"
    "with ?conf=PATH&id=USER if need be.\n"
    "\n"
    "When the server is ready, it prints a line per export and address: the device's\n"
    "name in iostat, and the URI. A single export is the default export too (the\n"
    "empty name). The server ends on SIGINT or SIGTERM, after it has answered what it\n"
    "accepted and flushed it; a second signal ends it at once. It takes over the\n"
    "sockets of systemd's LISTEN_FDS if there are any.\n"
    "\n"
    "Examples:\n"
    "  blkscope serve disk.img\n"
    "  blkscope serve memory:1G --queue-depth 8 --port 10809\n"
    "  blkscope serve root=disk.img scratch=memory:4G --unix /run/two.sock\n"
    "  blkscope serve --attach /dev/nbd0 disk.img\n"
    "  blkscope serve --model hdd7200 --limit iops=50 disk.img\n"
    "  blkscope serve --fault 'read:error=EIO;chance=1/100' disk.img\n"
    "  blkscope serve --crash-cache 64M disk.img\n"
    "  blkscope serve nbd://storage/disk --unix /run/disk.sock\n"
    "  blkscope serve 'nbds://storage/disk?tls-certificates=/etc/pki/nbd'\n"
    "  blkscope serve --tls require --tls-certs /etc/pki/nbd --port 10809 disk.img\n"
    "  blkscope serve --config /etc/blkscope/lab.json";

constexpr const char* attach_notes =
    "Example:\n"
    "  blkscope attach 'nbd+unix:///?socket=/run/disk.sock' /dev/nbd0";

constexpr const char* detach_notes =
    "Example:\n"
    "  blkscope detach /dev/nbd0";

CLI::Option* add_timeout(CLI::App& command, unsigned& seconds) {
    return add_number(
               command, "--timeout", seconds, CLI::Range(0U, 86400U),
               "Seconds after which the kernel gives a request to /dev/nbdX up; 0 for never, "
               "even if the server has died")
        ->option_text("SECONDS");
}

void add_tls(CLI::App& serve, nbd::TlsOptions& options) {
    add_word(serve, "--tls", options.mode, {nbd::tls_mode, {"off", "on", "require"}},
             "TLS for clients that ask for it (on), or for all (require); off if not given");
    add_value(serve, "--tls-certs", options.certificates, "DIRECTORY",
              "Directory of server-cert.pem, server-key.pem and ca-cert.pem");
    serve.add_flag("--tls-verify-peer", options.verify_peer,
                   "Only clients with a certificate that ca-cert.pem has signed");
    add_value(serve, "--tls-psk", options.psk_file, "FILE",
              "File of NAME:HEX lines: the keys shared with clients, as psktool makes them");
}

// The options for the connections of clients, and for the clients that are allowed.
void add_door(CLI::App& serve, ServeOptions& options) {
    CLI::Option* socket =
        add_value(serve, "--unix", options.socket_path, "PATH",
                  "Listen on this Unix socket; one in the run directory if not given");
    CLI::Option* port = add_value(serve, "--port", options.port, "PORT",
                                  "Listen on this TCP port; 0 takes a free one")
                            ->check(CLI::Range(0, 65535));
    add_value(serve, "--bind", options.bind_address, "ADDRESS", "The address for --port")
        ->capture_default_str()
        ->needs(port);
    add_value(serve, "--allow", options.config.allow, "NETWORK",
              "An address or network (10.0.0.0/8, ::1) whose TCP clients may connect; "
              "repeat for more (default: all)")
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
    add_number(serve, "--recorder", options.config.recorder_records,
               CLI::Range(0U, recorder_records_max),
               "Requests that each of these threads remembers for 'blkscope trace'; 0 for none");
    serve.add_flag_callback(
        "--no-busy-wait", [&options] { options.config.busy_wait = false; },
        "Sleep at once when there is nothing to do, or until a model's time is over");
    add_number(serve, "--max-connections", options.config.connections_max,
               CLI::Range(1U, clients_max), "Clients at once");
    add_number(serve, "--max-handshakes", options.config.handshakes_max,
               CLI::Range(1U, clients_max), "Clients that negotiate at once");
    add_number(serve, "--handshake-timeout", options.config.handshake_seconds,
               CLI::Range(1U, handshake_seconds_max), "Seconds that a client has to negotiate")
        ->option_text("SECONDS");
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
    add_seed(serve, options.seed, "N",
             "Repeats the random draws of models, faults and crashes (default: drawn and printed)");
}

void add_client_statistics(CLI::App& serve, ServeOptions& options) {
    add_word(serve, "--client-by", options.config.client_by,
             {nbd::client_by, {"connection", "peer", "address", "none"}},
             "Connections that are one client in the statistics: of one process or TLS name and "
             "address (peer), of one address or user, or each one; peer if not given");
    add_number(serve, "--client-stats", options.exp.client_stats, CLI::Range(0U, client_stats_max),
               "Clients of a device with statistics of their own; others share theirs");
}

void add_upstream(CLI::App& serve, UpstreamOptions& upstream) {
    const auto seconds = [&](const char* name, std::chrono::milliseconds& time, unsigned least,
                             const char* help) {
        serve
            .add_option_function<unsigned>(
                name, [&](unsigned number) { time = std::chrono::seconds(number); }, help)
            ->check(CLI::Range(least, upstream_seconds_max))
            ->option_text("SECONDS");
    };
    seconds("--upstream-timeout", upstream.timeout, 1,
            "How long a request waits for another machine before it fails; 30 if not given");
    seconds("--upstream-settle", upstream.settle, 0,
            "How long after a loss an old write is expected; 1 if not given");
    add_number(serve, "--upstream-connections", upstream.connections,
               CLI::Range(1U, upstream_connections_max),
               "Connections to another server, if it allows several");
    add_word(serve, "--upstream-resend", upstream.resend, {upstream_resend, {"always", "never"}},
             "Whether writes of a lost connection are sent again; always if not given");
    serve.add_flag("--upstream-wait", upstream.wait,
                   "Wait at the start for another server; also with --config");
}

void add_serve(CLI::App& app, ServeOptions& options) {
    CLI::App* serve =
        app.add_subcommand("serve", "Serve files, disks or memory over NBD")->footer(serve_notes);
    serve->add_option("backing", options.backings, "What to serve: [NAME=]BACKING ...");
    add_value(*serve, "--config", options.config_path, "FILE",
              "Everything from this file, and again at SIGHUP: see blkscope(5)");
    add_door(*serve, options);
    add_number(*serve, "--queue-depth", options.exp.queue_depth, CLI::Range(1U, queue_depth_max),
               "Requests that a device works on at once; more wait");
    add_word(*serve, "--order", options.exp.order, {start_order, {"arrival", "fair"}},
             "Which request starts next: the first that came, or one of each client in turn; "
             "arrival if not given");
    serve->add_flag("--direct", options.exp.direct, "Past the page cache (O_DIRECT)");
    serve->add_flag("--read-only", options.exp.read_only, "Refuse writes");
    serve->add_flag("--force-shared", options.exp.force_shared,
                    "Serve what is mounted, or what another program writes to");
    add_value(*serve, "--description", options.exp.description, "TEXT",
              "What clients are told of each export (default: its device and backing)");
    serve->add_flag_callback(
        "--no-list", [&options] { options.config.list = false; },
        "Tell the exports' names to nobody: a client must know one");
    add_word(*serve, "--replies", options.config.replies,
             {nbd::reply_form, {"simple", "structured", "extended"}},
             "The richest form of replies that clients may ask for; extended if not given");
    serve->add_flag_callback(
        "--no-histograms", [&options] { options.config.histograms = false; },
        "Count no times and sizes by bucket; 'kstat2adm enable blk:hist' begins");
    add_number(*serve, "--stats-rate", options.exp.stats_rate, CLI::Range(0U, stats_rate_max),
               "One read or write in so many is in 'blkscope stats'; 0 for none");
    add_client_statistics(*serve, options);
    add_behaviour(*serve, options);
    add_upstream(*serve, options.exp.upstream);
    add_tls(*serve, options.config.tls);
    CLI::Option* attach = add_value(*serve, "--attach", options.attach.device, "DEVICE",
                                    "Also attach the first export to this /dev/nbdX");
    attach->excludes("--stdio");
    add_number(*serve, "--connections", options.attach.connections, CLI::Range(1U, 16U),
               "Connections for --attach")
        ->needs(attach);
    add_timeout(*serve, options.attach.timeout_seconds)->needs(attach);
}

void add_attach(CLI::App& app, AttachCommand& command) {
    CLI::App* attach = app.add_subcommand("attach", "Make an export this machine's /dev/nbdX")
                           ->footer(attach_notes);
    attach
        ->add_option("uri", command.uri,
                     "The export: nbd+unix:///NAME?socket=PATH or "
                     "nbd://HOST[:PORT]/NAME")
        ->required();
    attach->add_option("device", command.options.device, "/dev/nbdX")->required();
    add_number(*attach, "--connections", command.options.connections, CLI::Range(1U, 16U),
               "Sockets to spread requests over");
    add_value(*attach, "--block-size", command.options.block_bytes, "BYTES",
              "Logical block size in bytes")
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

void add_detach(CLI::App& app, DetachCommand& command) {
    CLI::App* detach = app.add_subcommand("detach", "Free a /dev/nbdX")->footer(detach_notes);
    detach->add_option("device", command.device, "/dev/nbdX")->required();
    detach->add_flag("--force", command.options.force,
                     "Even if it is mounted or open: its users lose their disk");
}

void add_others(CLI::App& app) {
    for (const OtherCommand& command : other_commands) {
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
    const CLI::Option* wait = serve.get_option("--upstream-wait");  // a matter of the start only
    for (const CLI::Option* option : serve.get_options()) {
        if (option != config && option != wait && option->count() > 0) {
            throw CLI::ExcludesError("--config", option->get_name());
        }
    }
}

}  // namespace

void ServingCommands::add_to(CLI::App& app) {
    add_serve(app, serve_);
    add_attach(app, attach_);
    add_detach(app, detach_);
    add_others(app);
}

int ServingCommands::run(const CLI::App& app) {
    require_something_to_serve(app, serve_);
    if (app.got_subcommand("serve")) serve(serve_);
    if (app.got_subcommand("attach")) attach(attach_);
    if (app.got_subcommand("detach")) detach(detach_.device, detach_.options);
    return 0;
}

Words with_help_as_option(Words words) {
    constexpr std::array<std::string_view, 3> help{"help", "--help", "-h"};
    if (words.size() < 2 || std::ranges::find(help, words[1]) == help.end()) return words;
    words.erase(words.begin() + 1);
    words.resize(std::min<size_t>(words.size(), 2));
    words.emplace_back("--help");
    return words;
}

}  // namespace blkscope
