// blkscope serve: opens backings, makes devices of them and serves them until a signal comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/attach/attach.hpp"
#include "tools/blkscope/config.hpp"

namespace blkscope {

struct ServeOptions {
    std::vector<std::string> backings;  // [NAME=]BACKING
    std::string config_path;            // the file of all settings instead, read again at SIGHUP
    std::string socket_path;            // empty: one in the run directory, unless a port is given
    std::optional<uint16_t> port;       // TCP; 0 takes a free port
    std::string bind_address = "127.0.0.1";
    bool stdio = false;                    // the only client is at standard input and output
    ServiceConfig config = {};             // without addresses and exports
    ExportConfig exp = {};                 // the settings of every export; no name, no backing
    std::vector<std::string> models = {};  // [NAME@]SPEC
    std::vector<std::string> limits = {};
    std::vector<std::string> client_limits = {};
    std::vector<std::string> faults = {};  // [NAME@]RULE, in their order
    std::vector<std::string> crash_caches = {};
    uint64_t seed = draw_seed();  // of the first export; each further one has the next
    AttachOptions attach = {};    // without a device: none is attached
};

/// Serves until SIGINT or SIGTERM, or until the connection of `stdio` closes. Throws if the server
/// cannot start, or if the end fails.
void serve(const ServeOptions& options);

}  // namespace blkscope
