// TLS: a server's certificates and keys, and the rules for its clients.
//
//     --tls-certs DIR    x509: the server shows server-cert.pem; with --tls-verify-peer the
//                        client must show a certificate that ca-cert.pem has signed
//     --tls-psk FILE     PSK: client and server prove that they know the same key
//
// A server may have both. TLS 1.2 and 1.3 are allowed, with authenticated ciphers and a fresh key
// for each connection. Static RSA, plain PSK exchange, session tickets, renegotiation and
// compression are off.
//
// Ownership: a TlsContext is shared by the server and its sessions.
// Threads:   made on any thread; then constant, and used by all at once.
// Errors:    TlsContext::open throws std::invalid_argument with the wrong file, the reason and the
//            remedy. Standard error gets a warning about a key that other users may read, and about
//            an expired or future certificate.
// Source:    RFC 5246, RFC 8446, RFC 4279 (PSK). The names of the certificate files are qemu's and
//            libvirt's. The format of keys is that of psktool(1).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/nbd/handshake/handshake.hpp"

struct ssl_ctx_st;

namespace blkscope::nbd {

class TlsKeys;

/// Parses "off", "on" or "require".
std::optional<TlsMode> tls_mode(std::string_view word);

/// The server's options that concern TLS. Paths are as the user gave them.
struct TlsOptions {
    TlsMode mode = TlsMode::off;
    /// A directory with server-cert.pem and server-key.pem, and ca-cert.pem if `verify_peer`.
    std::string certificates = {};
    /// Refuses clients without a certificate that ca-cert.pem has signed, except clients with a key
    /// of `psk_file`.
    bool verify_peer = false;
    /// Lines of NAME:HEX, as psktool writes them.
    std::string psk_file = {};

    bool operator==(const TlsOptions&) const = default;
};

/// The certificates, keys and rules, loaded once for all connections. A reload makes another
/// TlsContext; sessions keep theirs.
class TlsContext {
  public:
    /// Loads the files. Null for TlsMode::off, which forbids all other options.
    static std::shared_ptr<const TlsContext> open(const TlsOptions& options);

    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    [[nodiscard]] TlsMode mode() const { return mode_; }
    /// OpenSSL's SSL_CTX, for TlsSession.
    [[nodiscard]] ssl_ctx_st* get() const { return context_.get(); }

  private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };

    explicit TlsContext(const TlsOptions& options);
    void load_certificates(const TlsOptions& options);
    void require_signed_by(const std::string& authority);
    void load_keys(const std::string& path);

    TlsMode mode_;
    std::unique_ptr<ssl_ctx_st, Free> context_;
    std::unique_ptr<const TlsKeys> keys_;  // null without a PSK file
};

}  // namespace blkscope::nbd
