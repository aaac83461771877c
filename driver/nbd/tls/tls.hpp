// TLS: what a server proves itself with, and who may be its client.
//
// A server has certificates (x509), keys that it shares with its clients (PSK), or both. TLS 1.2
// and 1.3, with ciphers that authenticate and keep no secret longer than the connection: no static
// RSA or plain PSK exchange, no session tickets, no renegotiation, no compression.
//
// Threads: made on any; then constant, and used by all at once.
// Errors:  TlsContext::open throws std::invalid_argument, saying which file is wrong, why, and what
//          to do. A key that other users may read and a certificate that has expired or is
//          not valid yet are warned of on standard error.
// Source:  RFC 5246, RFC 8446, RFC 4279 (PSK); qemu's and libvirt's names for the files of a
//          certificate directory; psktool(1)'s format of keys.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/nbd/handshake/handshake.hpp"

struct ssl_ctx_st;

namespace blkscope::nbd {

class TlsKeys;

/// off, on, require.
std::optional<TlsMode> tls_mode(std::string_view word);

struct TlsOptions {
    TlsMode mode = TlsMode::off;
    /// A directory with server-cert.pem and server-key.pem, and ca-cert.pem if `verify_peer`.
    std::string certificates = {};
    /// A client without a certificate that ca-cert.pem has signed is refused, unless it knows a key
    /// of `psk_file`.
    bool verify_peer = false;
    /// Lines of NAME:HEX, as psktool writes them.
    std::string psk_file = {};

    bool operator==(const TlsOptions&) const = default;
};

class TlsContext {
  public:
    /// Null for TlsMode::off, with which nothing else may be given.
    static std::shared_ptr<const TlsContext> open(const TlsOptions& options);

    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    [[nodiscard]] TlsMode mode() const { return mode_; }
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
    std::unique_ptr<const TlsKeys> keys_;  // of the PSK file, if there is one
};

}  // namespace blkscope::nbd
