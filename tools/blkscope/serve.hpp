// blkscope serve: opens backings, makes devices of them and serves them until a signal comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/attach/attach.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "tools/blkscope/config.hpp"

namespace blkscope {

struct ServeOptions {
    std::vector<std::string> backings;  // [NAME=]BACKING
    std::string config_path;            // the file of all settings instead, read again at SIGHUP
    std::string socket_path;            // empty: one in the run directory, unless a port is given
    std::optional<uint16_t> port;       // TCP; 0 takes a free port
    std::string bind_address = "127.0.0.1";
    bool stdio = false;              // the only client is at standard input and output
    std::vector<std::string> allow;  // addresses and networks; empty: every client
    uint32_t queue_depth = queue_depth_default;
    uint32_t stats_rate = stats_rate_default;
    unsigned workers = 0;  // at most; 0: one per processor
    bool busy_wait = true;
    unsigned connections_max = 256;
    unsigned handshakes_max = 64;
    unsigned handshake_seconds = 10;
    bool direct = false;
    bool read_only = false;
    bool force_shared = false;
    bool list = true;
    bool histograms = true;
    nbd::ReplyForm replies = nbd::ReplyForm::extended;
    std::string description;  // of every export; empty: the device's name and its backing
    nbd::TlsOptions tls;
    std::string attach_device;  // empty: none
    unsigned attach_connections = 1;
    unsigned attach_timeout_seconds = default_timeout_seconds;
};

/// Serves until SIGINT or SIGTERM, or until the connection of `stdio` closes. Throws if the server
/// cannot start, or if the end fails.
void serve(const ServeOptions& options);

/// The configuration of the command line, without a file.
ServiceConfig config_of(const ServeOptions& options);

/// NAME and BACKING of "[NAME=]BACKING". Without NAME: the file's base name, `memory`, `null`.
struct ExportSpec {
    std::string name;
    std::string backing;
};
ExportSpec parse_export_spec(const std::string& text);

}  // namespace blkscope
