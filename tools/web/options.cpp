#include "tools/web/options.hpp"

#include <CLI/CLI.hpp>

namespace blkscope::web {
namespace {

constexpr const char* notes =
    "/ is a page for a browser, and /metrics is for Prometheus. /api/v1/devices,\n"
    "/api/v1/overview, /api/v1/kstat and /api/v1/stream are JSON. The server only\n"
    "reads, and shows each provider that 'kstat' shows. It prints its address when it\n"
    "is ready, and ends on SIGINT or SIGTERM.\n"
    "\n"
    "Examples:\n"
    "  blkscope web\n"
    "  curl http://127.0.0.1:9410/metrics\n"
    "  blkscope web --listen 0.0.0.0:9410 --host lab7 \\\n"
    "    --token-file /etc/blkscope/token\n"
    "  blkscope web --listen 0.0.0.0:9410 --host lab7 \\\n"
    "    --tls-certs /etc/pki/web --tls-verify-peer";

// A script's variable may be unset, which must not mean less protection.
std::string not_empty(const std::string& text) {
    return text.empty() ? "is empty" : "";
}

}  // namespace

void add_command(CLI::App& app, Options& options) {
    CLI::App* web = app.add_subcommand("web")->footer(notes);
    web->add_option("--listen", options.listen, "Where to listen: ADDRESS:PORT or unix:PATH")
        ->option_text("ADDRESS")
        ->capture_default_str();
    web->add_option("--host", options.hosts,
                    "A further name of this server in the Host of requests; repeat for more")
        ->option_text("NAME")
        ->allow_extra_args(false);
    web->add_option("--token-file", options.token_file,
                    "Only for clients that send the token in this file (Bearer)")
        ->option_text("FILE")
        ->check(not_empty);
    CLI::Option* certificates =
        web->add_option("--tls-certs", options.certificates,
                        "TLS, with the server-cert.pem and server-key.pem in this folder")
            ->option_text("DIR")
            ->check(not_empty);
    web->add_flag("--tls-verify-peer", options.verify_peer,
                  "Only for clients with a certificate that DIR/ca-cert.pem has signed")
        ->needs(certificates);
    web->add_flag("--public", options.is_public,
                  "Listen beyond this machine for every client, without token or certificate");
    web->add_flag_callback(
        "--no-clients", [&options] { options.clients_named = false; },
        "Tell neither the programs and peers of clients nor the paths of backings");
}

}  // namespace blkscope::web
