// What a server serves, where and to whom: from its command line, or from a file.
//
// The file is JSON, in which // and /* */ comments may stand: blkscope(5). A key that it does not
// know, a key given twice and a value out of its range are errors, so that a slip of the pen is
// never taken for a default.
//
// Threads: any.
// Errors:  std::invalid_argument for a file that is wrong, "FILE: line 3, column 7: ..." or
//          "FILE: exports[1].queue-depth: ..."; std::system_error for one that cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/tls/tls.hpp"

namespace blkscope {

/// A Unix socket, or an address and port; never both.
struct ListenAddress {
    std::string unix_path = {};
    std::string host = {};
    uint16_t port = 0;  // 0 takes a free one

    bool operator==(const ListenAddress&) const = default;
};

/// One read or write in so many is in a device's statistics; 0: none. One in 64 costs a request
/// a dozen nanoseconds: see docs/performance.md.
inline constexpr uint32_t stats_rate_default = 64;
inline constexpr unsigned stats_rate_max = 1'000'000;

/// What Linux' own nbd driver keeps under way on a connection. Two clients that share a shallower
/// device take turns with it, and with their processors: see docs/performance.md.
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
    uint32_t stats_rate = stats_rate_default;

    bool operator==(const ExportConfig&) const = default;
};

/// The ranges in which the numbers may lie.
inline constexpr unsigned queue_depth_max = 1024;
inline constexpr unsigned clients_max = 65536;
inline constexpr unsigned workers_max = 64;
inline constexpr unsigned handshake_seconds_max = 3600;

struct ServiceConfig {
    std::vector<ListenAddress> listen;  // empty: a Unix socket in the run directory
    std::vector<std::string> allow;     // empty: every address
    unsigned workers = 0;               // at most; 0: one a processor
    bool busy_wait = true;              // where it pays
    unsigned connections_max = 256;
    unsigned handshakes_max = 64;
    unsigned handshake_seconds = 10;
    bool list = true;        // clients may ask what there is
    bool histograms = true;  // of the devices' requests, until kstat2adm says otherwise
    nbd::ReplyForm replies = nbd::ReplyForm::extended;  // at most
    nbd::TlsOptions tls = {};
    std::vector<ExportConfig> exports;

    bool operator==(const ServiceConfig&) const = default;
};

ServiceConfig read_config(const std::string& path);

/// `text` as read from the file that errors shall call `file`.
ServiceConfig parse_config(std::string_view text, const std::string& file);

}  // namespace blkscope
