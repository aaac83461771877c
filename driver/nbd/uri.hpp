// NBD URIs: how a person or a program names an export.
//
//     nbd://HOST[:PORT]/NAME             nbds://HOST[:PORT]/NAME
//     nbd+unix:///NAME?socket=PATH       nbds+unix:///NAME?socket=PATH
//
// The s means TLS, and nothing without it. `?tls-certificates=DIR` says where the client's side has
// its certificates, and `&tls-hostname=NAME` whose the server's should be if not the host's. A user
// before the host (USER@) names a shared key.
//
// Threads: any. Errors: parse_uri throws std::invalid_argument, saying what is wrong.
// Source:  the NBD URI specification; nbd_connect_uri(3) for tls-certificates.
#pragma once

#include <cstdint>
#include <string>

namespace blkscope::nbd {

inline constexpr uint16_t default_port = 10809;

struct Uri {
    std::string socket_path = {};  // a Unix socket; empty for TCP
    std::string host = {};
    uint16_t port = default_port;
    std::string export_name = {};  // empty for the default export
    bool tls = false;
    std::string user = {};              // whose key; empty for certificates
    std::string tls_certificates = {};  // a directory; empty if not said
    std::string tls_hostname = {};

    [[nodiscard]] std::string text() const;
};

Uri parse_uri(const std::string& text);

}  // namespace blkscope::nbd
