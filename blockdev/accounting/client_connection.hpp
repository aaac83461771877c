// ClientIdentity: the client of a connection. ConnectionFigures: the figures of a connection that
// its worker keeps.
//
// Connections with the same key are one client. The key may have the TLS name, which other users may
// not see. So no kstat shows the two.
//
// Units:     bytes.
// Ownership: values.
// Threads:   an identity never changes. The worker of a connection publishes its figures, and any
//            thread may observe them.
// Errors:    none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace blkscope {

struct ClientIdentity {
    std::string key = {};      // not empty
    std::string peer = {};     // for users: an address or a process
    std::string program = {};  // of a process: its name, as printable text; else empty
    std::optional<uid_t> uid = {};
    pid_t pid = 0;              // 0: none, or not visible here
    std::string tls_name = {};  // proved by the client; no kstat shows it

    bool operator==(const ClientIdentity&) const = default;
};

struct ConnectionFigures {
    uint64_t held_bytes = 0;  // of memory, for the data of its requests
    uint64_t stalls = 0;      // requests that waited for memory, or for the end of others
};

}  // namespace blkscope
