// blkscope serve: opens backings, makes devices of them and serves them until a signal comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/attach/attach.hpp"

namespace blkscope {

struct ServeOptions {
    std::vector<std::string> backings;  // [NAME=]BACKING
    std::string socket_path;            // empty: one in the run directory, unless there is a port
    std::optional<uint16_t> port;       // TCP; 0 takes a free one
    std::string bind_address = "127.0.0.1";
    uint32_t queue_depth = 32;
    unsigned connections_max = 256;
    unsigned handshake_seconds = 10;
    bool direct = false;
    bool read_only = false;
    bool list = true;
    std::string description;  // of every export; empty: the device's name and its backing
    std::string attach_device;  // empty: none
    unsigned attach_connections = 1;
    unsigned attach_timeout_seconds = default_timeout_seconds;
};

/// Serves until SIGINT or SIGTERM. Throws what stands in the way, before anything is served.
void serve(const ServeOptions& options);

/// NAME and BACKING of "[NAME=]BACKING". Without a name: the file's base name, `memory`, `null`.
struct ExportSpec {
    std::string name;
    std::string backing;
};
ExportSpec parse_export_spec(const std::string& text);

}  // namespace blkscope
