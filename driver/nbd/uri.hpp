// NBD URIs: the names of exports for users and programs.
//
//     nbd://HOST[:PORT]/NAME             nbds://HOST[:PORT]/NAME
//     nbd+unix:///NAME?socket=PATH       nbds+unix:///NAME?socket=PATH
//
// nbds means TLS, and nbd means no TLS. `?tls-certificates=DIR` is the directory of the client's
// certificates. `&tls-hostname=NAME` is the expected name in the server's certificate, if not the
// host. `&tls-verify-peer=false` accepts any certificate. `&tls-psk-file=FILE` has shared keys, and a
// user before the host (USER@) names one of them.
//
// Ownership: a Uri owns its strings.
// Threads:   any.
// Errors:    parse_uri() throws std::invalid_argument with the URI and the reason.
// Source:    the NBD URI specification; nbd_connect_uri(3) for the options of TLS.
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
    std::string user = {};              // the name of a shared key; empty for certificates
    std::string tls_certificates = {};  // a directory; empty if not given
    std::string tls_hostname = {};
    bool tls_verify_peer = true;
    std::string tls_psk_file = {};

    [[nodiscard]] std::string text() const;
};

Uri parse_uri(const std::string& text);

}  // namespace blkscope::nbd
