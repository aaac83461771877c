// TLS: the certificates and keys of one side, and its rules for the other side.
//
// Of a server:
//
//     --tls-certs DIR    x509: the server shows server-cert.pem; with --tls-verify-peer the
//                        client must show a certificate that ca-cert.pem has signed and that
//                        ca-crl.pem, if there, does not revoke
//     --tls-psk FILE     PSK: client and server prove that they know the same key
//
// A server may have both. A client of another server has one of them:
//
//     certificates       the server must show a certificate that ca-cert.pem has signed and that
//                        ca-crl.pem, if there, does not revoke, for the host's name; the client
//                        shows client-cert.pem, if there
//     PSK                the server must have the key of this user
//
// TLS 1.2 and 1.3 are allowed, with authenticated ciphers and a fresh key
// for each connection. Static RSA, plain PSK exchange, session tickets, renegotiation and
// compression are off.
//
// Ownership: a TlsContext is shared by its sessions and by the part that made it.
// Threads:   made on any thread; then constant, and used by all at once.
// Errors:    The functions that open throw std::invalid_argument with the wrong file, the reason and the
//            remedy. Standard error gets a warning about a key that other users may read, about
//            an expired or future certificate or CRL, and about a CRL that is not used.
// Source:    RFC 5246, RFC 8446, RFC 4279 (PSK). The names of the certificate files are qemu's and
//            libvirt's. The format of keys is that of psktool(1).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/nbd/handshake/handshake.hpp"

struct ssl_ctx_st;

namespace blkscope::nbd {

class Revocations;
class TlsKeys;

/// Parses "off", "on" or "require".
std::optional<TlsMode> tls_mode(std::string_view word);

/// The server's options that concern TLS. Paths are as the user gave them.
struct TlsOptions {
    TlsMode mode = TlsMode::off;
    /// A directory with server-cert.pem and server-key.pem, and ca-cert.pem if `verify_peer`,
    /// perhaps with ca-crl.pem.
    std::string certificates = {};
    /// Refuses clients without a certificate that ca-cert.pem has signed, except clients with a key
    /// of `psk_file`.
    bool verify_peer = false;
    /// Lines of NAME:HEX, as psktool writes them.
    std::string psk_file = {};

    bool operator==(const TlsOptions&) const = default;
};

/// The options of a client.
struct TlsClientRules {
    /// A directory with ca-cert.pem, and perhaps ca-crl.pem, client-cert.pem and client-key.pem.
    /// Empty for the authorities of the system.
    std::string certificates = {};
    /// False: any certificate is accepted. Then an attacker on the way can be the server.
    bool verify_peer = true;
    /// The name or address that the server's certificate must have. Empty for any.
    std::string hostname = {};
    /// Lines of NAME:HEX. Empty for certificates.
    std::string psk_file = {};
    /// The name of the key in it. Empty for the name of this process' user.
    std::string user = {};
};

/// The certificates, keys and rules, loaded once for all connections. A reload makes another
/// TlsContext; sessions keep theirs.
class TlsContext {
  public:
    /// Loads the files. Null for TlsMode::off, which forbids all other options.
    static std::shared_ptr<const TlsContext> open(const TlsOptions& options);
    /// Loads the files of a client.
    static std::shared_ptr<const TlsContext> open_client(const TlsClientRules& rules);

    ~TlsContext();
    TlsContext& operator=(TlsContext&&) = delete;

    /// Of a server.
    [[nodiscard]] TlsMode mode() const { return mode_; }
    [[nodiscard]] bool is_client() const { return is_client_; }
    /// Of a client: the host that the certificate must name; empty for an address. A server of
    /// several names chooses by it.
    [[nodiscard]] const std::string& server_name() const { return server_name_; }
    /// Of a client: the name of the key that it shows; empty with certificates.
    [[nodiscard]] const std::string& user() const { return user_; }
    /// OpenSSL's SSL_CTX, for TlsSession.
    [[nodiscard]] ssl_ctx_st* get() const { return context_.get(); }

  private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };

    explicit TlsContext(const TlsOptions& options);
    explicit TlsContext(const TlsClientRules& rules);
    void load_certificates(const TlsOptions& options);
    void load_own(const std::string& chain, const std::string& key);
    void require_signed_by(const std::string& authority);
    void load_revocations(const std::filesystem::path& folder);
    void load_keys(const std::string& path);
    void load_client_certificates(const std::string& folder);
    void require_name(const std::string& name);
    void require_key(const TlsClientRules& rules);

    TlsMode mode_ = TlsMode::require;
    bool is_client_ = false;
    std::string server_name_;
    std::string user_;
    std::unique_ptr<const Revocations> revocations_;  // null without ca-crl.pem
    std::unique_ptr<ssl_ctx_st, Free> context_;
    std::unique_ptr<const TlsKeys> keys_;  // null without a PSK file
};

}  // namespace blkscope::nbd
