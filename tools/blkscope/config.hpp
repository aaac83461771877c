// The configuration of a server: its exports, its addresses and the clients that are allowed. The
// source is the command line or a file.
//
// The file is JSON, in which // and /* */ comments are allowed: blkscope(5). An unknown key, a key
// given twice and a value out of its range are errors. A typing error therefore never results in a
// default.
//
// Threads: any.
// Errors:  std::invalid_argument for an invalid file, "FILE: line 3, column 7: ..." or
//          "FILE: exports[1].queue-depth: ..."; std::system_error for a file that cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/backing/backing.hpp"
#include "blockdev/model/crash_cache.hpp"
#include "driver/nbd/server/client_key.hpp"
#include "driver/nbd/tls/tls.hpp"
#include "tools/blkscope/behaviour_config.hpp"

namespace blkscope {

/// A Unix socket, or an address and port, but never both.
struct ListenAddress {
    std::string unix_path = {};
    std::string host = {};
    uint16_t port = 0;  // 0 takes a free port

    bool operator==(const ListenAddress&) const = default;
};

/// One of this many reads and writes is counted in a device's statistics; 0: none. With 64, the
/// cost of a request grows by a dozen nanoseconds: see docs/performance.md.
inline constexpr uint32_t stats_rate_default = 64;
inline constexpr unsigned stats_rate_max = 1'000'000;

/// The clients of a device that have statistics of their own; the others share theirs.
inline constexpr uint32_t client_stats_default = 64;
inline constexpr unsigned client_stats_max = 1024;

/// The number of requests that Linux' own nbd driver has outstanding on a connection. With a
/// shallower device, two clients take turns on it and on their processors: see docs/performance.md.
inline constexpr uint32_t queue_depth_default = 128;

struct ExportConfig {
    std::string name;
    std::string description = {};  // empty: the device's name and the backing
    std::string backing;
    bool read_only = false;
    bool direct = false;
    bool force_shared = false;
    bool is_default = false;
    uint32_t queue_depth = queue_depth_default;
    StartOrder order = StartOrder::arrival;
    uint32_t stats_rate = stats_rate_default;
    uint32_t client_stats = client_stats_default;
    UpstreamOptions upstream = {};  // of a backing on another machine
    BehaviourConfig behaviour = {};
    std::optional<model::CrashCacheOptions> crash_cache = {};  // its seed is that of the behaviour

    bool operator==(const ExportConfig&) const = default;
};

/// The upper limits of the numbers.
inline constexpr unsigned queue_depth_max = 1024;
inline constexpr unsigned clients_max = 65536;
inline constexpr unsigned workers_max = 64;
inline constexpr unsigned handshake_seconds_max = 3600;
inline constexpr unsigned upstream_seconds_max = 3600;
inline constexpr unsigned upstream_connections_max = 16;
inline constexpr unsigned recorder_records_default = 65536;
inline constexpr unsigned recorder_records_max = 16'777'216;

struct ServiceConfig {
    std::vector<ListenAddress> listen;  // empty: a Unix socket in the run directory
    std::vector<std::string> allow;     // empty: every address
    unsigned workers = 0;               // at most; 0: one per processor
    bool busy_wait = true;              // where it makes requests faster, and models exact
    unsigned connections_max = 256;
    unsigned handshakes_max = 64;
    unsigned handshake_seconds = 10;
    unsigned recorder_records = recorder_records_default;  // of each worker; 0: none
    bool list = true;        // clients may ask for the list of exports
    bool histograms = true;  // of the devices' requests, until kstat2adm changes it
    nbd::ReplyForm replies = nbd::ReplyForm::extended;  // the highest form that is offered
    nbd::ClientBy client_by = nbd::ClientBy::peer;      // which connections are one client
    nbd::TlsOptions tls = {};
    std::vector<ExportConfig> exports;

    bool operator==(const ServiceConfig&) const = default;
};

/// Parses "always" or "never".
std::optional<bool> upstream_resend(std::string_view word);

/// Parses "arrival" or "fair".
std::optional<StartOrder> start_order(std::string_view word);

ServiceConfig read_config(const std::string& path);

/// Parses `text`, the contents of a file. Error messages call the file `file`.
ServiceConfig parse_config(std::string_view text, const std::string& file);

}  // namespace blkscope
